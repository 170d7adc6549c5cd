#include "results/difference.hpp"

#include <format>
#include <glaze/glaze.hpp>

#include "results/loss.hpp"

namespace doxlab::results {
namespace {

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 80;
  if (text.empty()) return "not given";
  return text.size() > kMost ? std::string(text.substr(0, kMost)) + "..." : std::string(text);
}

template <class Record>
std::string compact(const Record& record) {
  std::string out;
  (void)glz::write_json(record, out);
  return out;
}

template <class Record>
std::map<std::string, std::string> fields(const Record& record) {
  std::map<std::string, glz::raw_json> values;
  const auto text = compact(record);
  if (const auto error = glz::read_json(values, text)) throw std::logic_error("a record that is no JSON object");
  std::map<std::string, std::string> out;
  for (auto& [name, value] : values) out[name] = std::move(value.str);
  return out;
}

/// The transports, as the option --only has them.
std::string transports(const LossRun& run) {
  std::string out;
  for (const auto& [name, summary] : run.results) out += (out.empty() ? "" : ",") + name;
  return out;
}

}  // namespace

std::map<std::string, std::string> fields_of(const LinkSettings& link) { return fields(link); }
std::map<std::string, std::string> fields_of(const EndpointSettings& endpoints) { return fields(endpoints); }

std::string differ(std::string_view name, std::string_view one, std::string_view other) {
  return std::format("{} is {} in one and {} in the other", name, shortened(one), shortened(other));
}

std::string difference(const std::map<std::string, std::string>& one,
                       const std::map<std::string, std::string>& other) {
  const auto value = [](const auto& options, const std::string& name) {
    const auto at = options.find(name);
    return at == options.end() ? std::string() : at->second;
  };
  auto all = one;
  all.insert(other.begin(), other.end());
  for (const auto& [name, ignored] : all)
    if (value(one, name) != value(other, name)) return differ(name, value(one, name), value(other, name));
  return {};
}

std::string difference(const LossRun& one, const LossRun& other) {
  const auto &a = one.environment, &b = other.environment;
  for (const auto& [name, left, right] :
       {std::tuple{"the version of doxlab", a.doxlab_version, b.doxlab_version},
        {"the version of OpenSSL", a.openssl, b.openssl},
        {"the version of ngtcp2", a.ngtcp2, b.ngtcp2},
        {"the version of nghttp3", a.nghttp3, b.nghttp3},
        {"the version of nghttp2", a.nghttp2, b.nghttp2},
        {"the number of lookups (-n)", std::to_string(one.repetitions), std::to_string(other.repetitions)},
        {"the seed", std::to_string(one.link.seed), std::to_string(other.link.seed)}})
    if (left != right) return differ(name, left, right);
  if (const auto different = difference(one.options, other.options); !different.empty()) return different;
  // What the options do not tell, such as a file whose content has changed.
  for (const auto& [name, left, right] :
       {std::tuple{"transports", transports(one), transports(other)},
        {"the link", compact(one.link), compact(other.link)},
        {"what was asked of the endpoints", compact(one.endpoints), compact(other.endpoints)}})
    if (left != right) return differ(name, left, right);
  return difference(a.kernel_settings, b.kernel_settings);
}

std::string difference(const LinkSettings& link, const LinkSettings& other_link, const EndpointSettings& endpoints,
                       const EndpointSettings& other_endpoints) {
  if (const auto a = compact(link), b = compact(other_link); a != b) return differ("the link", a, b);
  if (const auto a = compact(endpoints), b = compact(other_endpoints); a != b)
    return differ("what was asked of the endpoints", a, b);
  return {};
}

}  // namespace doxlab::results
