#pragma once
/// What a Zone holds, and how a name is found in it. Internal to resolver.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "resolver/resolver.hpp"

namespace doxlab::resolver {

struct RrSet {
  std::uint16_t type = 0;
  std::uint32_t ttl = 0;
  std::vector<Bytes> rdata;   ///< uncompressed, in the file's order, no duplicates
  std::size_t octets = 0;     ///< of all rdata
};

struct Node {
  Bytes owner;                ///< wire form, case as in the file; empty for names that only have children
  std::vector<RrSet> sets;

  const RrSet* find(std::uint16_t type) const;
  bool is_apex() const;       ///< has a SOA
};

/// Where a name belongs. All pointers are null for a name outside of every zone.
struct Match {
  const Node* apex = nullptr;
  const Node* cut = nullptr;      ///< delegated at or above the name, below the apex
  const Node* node = nullptr;     ///< the name itself, or the wildcard that stands in for it
  bool exact = false;
};

struct Zone::State {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  /// By lower-case wire name. Every name between an owner and its apex is there, with no sets if need be,
  /// so the closest encloser is the first ancestor found (RFC 4592 §2.2).
  std::unordered_map<std::string, Node, Hash, std::equal_to<>> nodes;

  /// `name` in wire form, any case, at most 255 octets.
  Match find(BytesView name) const;
};

}  // namespace doxlab::resolver
