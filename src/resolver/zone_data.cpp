#include "resolver/zone_data.hpp"

#include <algorithm>
#include <array>

#include "dns/name.hpp"
#include "dns/scan.hpp"

namespace doxlab::resolver {

const RrSet* Node::find(std::uint16_t type) const {
  const auto found = std::ranges::find(sets, type, &RrSet::type);
  return found == sets.end() ? nullptr : &*found;
}

bool Node::is_apex() const { return find(dns::kTypeSoa) != nullptr; }

Match Zone::State::find(BytesView name) const {
  std::array<char, dns::kMaxNameOctets> lower;
  std::ranges::transform(name, lower.begin(), [](auto octet) { return static_cast<char>(dns::to_lower(octet)); });
  const std::string_view whole(lower.data(), name.size());

  Match match;
  const Node* encloser = nullptr;
  std::size_t encloser_at = 0;
  for (std::size_t at = 0;; at += name[at] + 1u) {
    if (const auto found = nodes.find(whole.substr(at)); found != nodes.end()) {
      const Node& node = found->second;
      if (encloser == nullptr) {
        encloser = &node;
        encloser_at = at;
      }
      if (node.is_apex()) {
        match.apex = &node;
        break;
      }
      if (node.find(dns::kTypeNs)) match.cut = &node;  // the highest one counts
    }
    if (name[at] == 0) return {};
  }
  if (encloser_at == 0) {
    match.node = encloser;
    match.exact = true;
    return match;
  }
  // "*.encloser" is written in place, over the label before the encloser: that has two octets at least.
  auto* star = lower.data() + encloser_at - 2;
  star[0] = 1;
  star[1] = '*';
  const auto found = nodes.find(std::string_view(star, name.size() - encloser_at + 2));
  if (found != nodes.end()) match.node = &found->second;
  return match;
}

}  // namespace doxlab::resolver
