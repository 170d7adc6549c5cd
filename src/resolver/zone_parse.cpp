#include <algorithm>
#include <format>

#include "dns/message.hpp"
#include "dns/name.hpp"
#include "dns/scan.hpp"
#include "resolver/rdata_layout.hpp"
#include "resolver/scanner.hpp"
#include "resolver/zone_data.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::uint16_t kTypeRrsig = 46, kTypeNsec = 47;
constexpr std::uint16_t kFirstMetaType = 128, kLastMetaType = 255;  // RFC 6895 §3.1

std::string lower_key(BytesView name) {
  std::string key(name.size(), '\0');
  std::ranges::transform(name, key.begin(), [](auto octet) { return static_cast<char>(dns::to_lower(octet)); });
  return key;
}

/// May stand beside a CNAME (RFC 4034 §3, §4).
bool may_join_cname(std::uint16_t type) { return type == kTypeRrsig || type == kTypeNsec; }

/// Why a record cannot be served; empty: it can.
std::string objection(const Node& node, const ScannedRecord& record) {
  const auto type_name = dns::type_to_string(record.type);
  if (record.klass != dns::kClassIn) return "only class IN is served";
  if (record.type == dns::kTypeOpt || (record.type >= kFirstMetaType && record.type <= kLastMetaType)) {
    return std::format("a record of type {} cannot be in a zone", type_name);
  }
  if (record.type == dns::kTypeDname) return "DNAME is not supported";
  if (!is_sound_rdata(record.type, record.rdata)) return "rdata does not fit the type " + type_name;
  if (record.type == dns::kTypeSoa && node.is_apex()) return "second SOA record of the same zone";
  if (may_join_cname(record.type)) return {};
  const bool is_cname = record.type == dns::kTypeCname;
  for (const auto& set : node.sets) {
    if (may_join_cname(set.type)) continue;
    if (is_cname && set.type == dns::kTypeCname) return "second CNAME record of the same name";
    if (is_cname || set.type == dns::kTypeCname) {
      return std::format("CNAME and {} cannot have the same name",
                         is_cname ? dns::type_to_string(set.type) : type_name);
    }
  }
  return {};
}

void add(Node& node, const ScannedRecord& record) {
  if (node.owner.empty()) node.owner = to_bytes(record.owner);
  auto set = std::ranges::find(node.sets, record.type, &RrSet::type);
  if (set == node.sets.end()) {
    set = node.sets.insert(set, RrSet{.type = record.type, .ttl = record.ttl, .rdata = {}, .octets = 0});
  }
  set->ttl = std::min(set->ttl, record.ttl);  // RFC 2181 §5.2: one TTL for the whole set
  if (std::ranges::any_of(set->rdata, [&](const Bytes& known) { return std::ranges::equal(known, record.rdata); })) {
    return;
  }
  set->rdata.push_back(to_bytes(record.rdata));
  set->octets += record.rdata.size();
}

/// Puts every ancestor of `key` up to its apex into the map. False: there is no apex.
bool connect_to_apex(decltype(Zone::State::nodes)& nodes, std::string_view key) {
  std::vector<std::string_view> missing;
  for (;; key.remove_prefix(static_cast<std::uint8_t>(key[0]) + 1u)) {
    const auto found = nodes.find(key);
    if (found != nodes.end() && found->second.is_apex()) break;
    if (found == nodes.end()) missing.push_back(key);
    if (key[0] == '\0') return false;
  }
  for (const auto name : missing) nodes.emplace(name, Node{});
  return true;
}

}  // namespace

Zone::Zone(std::unique_ptr<State> state) : state_(std::move(state)) {}
Zone::~Zone() = default;

Result<std::shared_ptr<const Zone>> Zone::parse(std::string_view master_file, std::string_view origin) {
  const auto base = dns::normalize_name(origin);
  if (!base) return fail("origin: " + base.error().message);
  auto state = std::make_unique<State>();
  std::vector<std::pair<std::string, std::uint64_t>> owners;  // with the line of the first record
  const auto read = scan_master_file(master_file, *base, [&](const ScannedRecord& record) -> std::string {
    const auto [entry, is_new] = state->nodes.try_emplace(lower_key(record.owner));
    if (auto reason = objection(entry->second, record); !reason.empty()) return reason;
    if (is_new) owners.emplace_back(entry->first, record.line);
    add(entry->second, record);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  if (owners.empty()) return fail("the zone has no records");
  for (const auto& [owner, line] : owners) {
    if (!connect_to_apex(state->nodes, owner)) {
      return fail(std::format("line {}: {} is in no zone: no SOA record at it or above it", line,
                              dns::name_to_text(as_bytes(owner))));
    }
  }
  return std::shared_ptr<const Zone>(new Zone(std::move(state)));
}

}  // namespace doxlab::resolver
