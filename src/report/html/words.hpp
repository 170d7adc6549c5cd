#pragma once
/// How figures are put into words, and what belongs to which transport, cause and owner: names, colours, order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/run.hpp"

namespace doxlab::report::html {

std::string ms_text(double ms);                        ///< "83.0 ms", "3,360 ms"
std::string ms_text(const std::optional<double>& ms);  ///< "–" if there is none
std::string ms_number(double ms);                      ///< the same without its unit
std::string signed_ms(double ms);                      ///< "+40.4", "−0.1"
std::string whole(double value);                       ///< rounded, "10,499"
std::string percent(double share);                     ///< of 1: "1.67%"
std::string signed_whole(double value);                ///< "+2,070", "−40"
/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& names);
/// "1 round trip", "3 round trips".
std::string counted(std::uint64_t n, std::string_view one, std::string_view many);

std::string transport_name(std::string_view transport);  ///< "doh3": "DoH3"

/// ", with a Retry on DoH3": which QUIC transports of this server send one; empty: none.
std::string retry_text(const results::EndpointSettings& endpoints);

/// What is drawn in one colour.
struct Paint {
  std::string name;
  std::string color;   ///< legible on white and on near-black
  std::vector<int> dash;
  bool operator==(const Paint&) const = default;
};

/// A family has a hue, its second member is dashed.
Paint transport_paint(std::string_view transport);

/// The group that a cause of time belongs to, and those of bytes of an owner. What is not known is in the last one.
std::size_t group_of_cause(std::string_view cause);
std::size_t group_of_owner(std::string_view owner);
/// A cause that is waiting for a timer to end.
bool waits_for_timer(std::string_view cause);
const std::vector<Paint>& cause_groups();
const std::vector<Paint>& owner_groups();

}  // namespace doxlab::report::html
