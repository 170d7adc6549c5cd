#include "dns/rdata.hpp"

#include "dns/libknot.hpp"
#include "dns/name.hpp"

namespace doxlab::dns {
namespace {

/// Owns what libknot allocates for one record.
class ParsedRecord {
 public:
  ParsedRecord() { knot_rrset_init_empty(&rrset_); }
  ~ParsedRecord() { knot_rrset_clear(&rrset_, nullptr); }
  ParsedRecord(const ParsedRecord&) = delete;
  ParsedRecord& operator=(const ParsedRecord&) = delete;
  knot_rrset_t* get() { return &rrset_; }

 private:
  knot_rrset_t rrset_;
};

/// Checks the names that rdata of this type holds. libknot checks them too, but follows any number of
/// pointers: a message of 64 KiB could make it walk tens of millions.
bool names_are_sound(BytesView message, const RecordView& record, std::size_t& expanded_octets) {
  const auto* descriptor = knot_get_rdata_descriptor(record.type);
  if (descriptor->type_name == nullptr) descriptor = knot_get_obsolete_rdata_descriptor(record.type);
  auto at = record.rdata_offset;
  for (const int* block = descriptor->block_types; *block != KNOT_RDATA_WF_END && at < record.end(); ++block) {
    switch (*block) {
      case KNOT_RDATA_WF_FIXED_DNAME:
      case KNOT_RDATA_WF_COMPRESSIBLE_DNAME:
      case KNOT_RDATA_WF_DECOMPRESSIBLE_DNAME: {
        const auto octets = check_name(message, at, record.end(), &expanded_octets);
        if (!octets) return false;
        at += *octets;
        break;
      }
      case KNOT_RDATA_WF_NAPTR_HEADER: {
        ByteReader reader(message.subspan(at, record.end() - at));
        reader.skip(4);  // order, preference
        for (int strings = 0; strings < 3; ++strings) reader.skip(reader.u8());
        if (!reader.ok()) return false;
        at += reader.position();
        break;
      }
      case KNOT_RDATA_WF_REMAINDER:
        return true;
      default:
        at += static_cast<std::size_t>(*block);
    }
  }
  return true;
}

/// Checks the lengths inside of rdata that libknot's printer believes: NSEC3 (RFC 5155 §3.2), NSEC3PARAM (§4.2),
/// TSIG (RFC 8945 §4.2). Behind a length beyond the end it would read on and on.
bool lengths_are_sound(BytesView message, const RecordView& record) {
  ByteReader in(record.rdata);
  switch (record.type) {
    case KNOT_RRTYPE_NSEC3:
    case KNOT_RRTYPE_NSEC3PARAM:
      in.skip(4);  // algorithm, flags, iterations
      in.skip(in.u8());
      if (record.type == KNOT_RRTYPE_NSEC3) in.skip(in.u8());
      return in.ok();
    case KNOT_RRTYPE_TSIG:
      in.skip(check_name(message, record.rdata_offset, record.end()).value_or(record.rdata.size() + 1));
      in.skip(8);  // time, fudge
      in.skip(in.u16());
      in.skip(4);  // original ID, error
      in.skip(in.u16());
      return in.ok();
    default:
      return true;
  }
}

/// Text of the only rdata of `rrset`, or nothing if libknot cannot print it.
std::string dump(const knot_rrset_t* rrset, bool generic) {
  constexpr std::size_t kMaxText = 1 << 20;  // 65,535 octets take at most four characters each, and quotes
  auto style = KNOT_DUMP_STYLE_DEFAULT;
  style.wrap = false;
  style.human_timestamp = true;
  style.generic = generic;
  std::string text;
  for (std::size_t room = 512; room <= kMaxText; room *= 4) {
    int length = 0;
    text.resize_and_overwrite(room, [&](char* buffer, std::size_t size) {
      length = knot_rrset_txt_dump_data(rrset, 0, buffer, size, &style);
      return length > 0 && static_cast<std::size_t>(length) < size ? static_cast<std::size_t>(length) : 0;
    });
    if (length >= 0) return text;
    if (length != KNOT_ESPACE) break;
  }
  return {};
}

}  // namespace

Result<std::string> rdata_to_text(BytesView message, const RecordView& record, std::size_t& expanded_octets) {
  if (record.rdata.empty()) return R"(\# 0)";
  if (!names_are_sound(message, record, expanded_octets)) return fail("malformed name in the rdata");
  ParsedRecord parsed;
  auto position = record.offset;
  if (knot_rrset_rr_from_wire(message.data(), &position, record.end(), parsed.get(), nullptr, false) != KNOT_EOK ||
      position != record.end()) {
    return fail("rdata does not fit its type");
  }
  if (!lengths_are_sound(message, record)) return dump(parsed.get(), true);
  auto text = dump(parsed.get(), false);
  return text.empty() ? dump(parsed.get(), true) : text;
}

}  // namespace doxlab::dns
