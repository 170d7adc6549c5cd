#include "compare/comparability.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "results/difference.hpp"

namespace doxlab::compare {
namespace {

using Fields = std::map<std::string, std::string>;

/// Of the endpoints: what is asked and how long, not what answers.
constexpr std::array<std::string_view, 7> kConditions = {"qname", "qtype", "family", "start", "timeout_s",
                                                         "do53_retransmission_ms", "first_flight_copies"};

bool is_condition(std::string_view name) { return std::ranges::find(kConditions, name) != kConditions.end(); }

template <class Wanted>
void append_differences(std::vector<std::string>& out, const Fields& a, const Fields& b, const Wanted& is_wanted) {
  std::set<std::string> names;
  for (const auto& [name, value] : a) names.insert(name);
  for (const auto& [name, value] : b) names.insert(name);
  const auto value = [](const Fields& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  for (const auto& name : names)
    if (is_wanted(name) && value(a, name) != value(b, name)) out.push_back(results::differ(name, value(a, name), value(b, name)));
}

bool is_random(const results::LinkSettings& link) {
  return link.loss_percent > 0 || !link.burst.empty() || link.duplicate_percent > 0 || link.corrupt_percent > 0 ||
         link.reorder_percent > 0;
}

Fields machine_of(const results::Environment& e) {
  return {{"the version of doxlab", e.doxlab_version}, {"the kernel", e.kernel},
          {"the processor", e.cpu},                    {"the architecture", e.architecture},
          {"the number of cores", std::to_string(e.cores)}, {"the version of OpenSSL", e.openssl},
          {"the version of ngtcp2", e.ngtcp2},         {"the version of nghttp3", e.nghttp3},
          {"the version of nghttp2", e.nghttp2}};
}

}  // namespace

std::vector<std::string> obstacles(const Conditions& a, const Conditions& b) {
  std::vector<std::string> out;
  const bool seed_matters = is_random(a.link) || is_random(b.link);
  append_differences(out, results::fields_of(a.link), results::fields_of(b.link),
                     [&](const std::string& name) { return name != "seed" || seed_matters; });
  append_differences(out, results::fields_of(a.endpoints), results::fields_of(b.endpoints),
                     [](const std::string& name) { return is_condition(name); });
  append_differences(out, a.environment.kernel_settings, b.environment.kernel_settings,
                     [](const std::string&) { return true; });
  return out;
}

std::vector<std::string> changes(const Conditions& a, const Conditions& b) {
  std::vector<std::string> out;
  append_differences(out, machine_of(a.environment), machine_of(b.environment), [](const std::string&) { return true; });
  append_differences(out, results::fields_of(a.endpoints), results::fields_of(b.endpoints),
                     [](const std::string& name) { return !is_condition(name); });
  return out;
}

}  // namespace doxlab::compare
