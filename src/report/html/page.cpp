#include <array>
#include <format>

#include "report/html/embedded.hpp"
#include "report/html/parts.hpp"
#include "report/html/report.hpp"
#include "report/html/sections.hpp"

namespace doxlab::report {
namespace html {
namespace {

constexpr std::array<std::string_view, 6> kScripts = {"vega.min.js", "vega-lite.min.js", "vega-interpreter.min.js", "vega-embed.min.js",
                                                      "charts.js", "ladder.js"};
constexpr std::array<std::string_view, 5> kSpecs = {"tail", "time", "bytes", "budget", "dropmap"};

std::uint8_t digit(char c) {
  return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10);
}

/// Base64 (RFC 4648 section 4) of octets that are given in hexadecimal digits.
std::string base64(std::string_view hex) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    const auto part = hex.substr(i, 6);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 6; ++k) bits = bits << 4 | (k < part.size() ? digit(part[k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += k <= part.size() / 2 ? kAlphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// Nothing may be loaded or contacted, and only our scripts run, known by their sums.
std::string content_security_policy() {
  std::string out = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; script-src";
  for (const auto name : kScripts) out += std::format(" 'sha256-{}'", base64(embedded(name).sha256));
  return out;
}

struct Part {
  std::string_view id, title;
  bool is_there;
};

std::vector<Part> parts_of(const std::string& sections) {
  std::vector<Part> out;
  for (const auto& [id, title] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"transports", "Cold lookups"}, {"loss", "Under loss"}, {"accounting", "Time and bytes"}, {"key-exchange", "Post-quantum"},
           {"warm", "Warm starts"}, {"dropmap", "Drop map"}, {"ladder", "Packet by packet"}, {"method", "Method"}})
    out.push_back({id, title, sections.contains(std::format("<section id=\"{}\"", id))});
  return out;
}

void add_head(Html& html, std::string_view title) {
  html.open("head");
  html.void_element("meta", {{"charset", "utf-8"}});
  html.void_element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", content_security_policy()}});
  html.void_element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.void_element("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.void_element("meta", {{"name", "generator"}, {"content", "doxlab " DOXLAB_VERSION}});
  html.element("title", title);
  html.void_element("link", {{"rel", "icon"}, {"href", "data:,"}});
  html.open("style").trusted(embedded("report.css").text).close();
  html.close();
}

/// ", on an emulated path of 20 ms each way": of the first experiment that there is.
std::string path_text(const results::Study& study) {
  const auto* link = study.packets ? &study.packets->link : study.as_published ? &study.as_published->link : study.loss ? &study.loss->link : nullptr;
  const bool is_direct = study.packets ? study.packets->endpoints.direct : study.loss && study.loss->endpoints.direct;
  return link == nullptr || is_direct ? std::string() : std::format(", on an emulated path of {:g} ms each way", link->one_way_delay_ms);
}

void add_header(Html& html, const results::Study& study, const std::vector<Part>& parts) {
  html.element("a", "Skip to the content", {{"class", "skip"}, {"href", "#content"}});
  html.open("header");
  html.element("p", "doxlab", {{"class", "brand"}});
  html.element("h1", "What encrypted DNS costs on the wire");
  if (!study.started.empty()) html.element("p", std::format("Measured {} (UTC), {} s{}.", study.started, whole(study.duration_s), path_text(study)), {{"class", "note"}});
  html.open("nav", {{"aria-label", "Sections"}}).open("ul");
  for (const auto& part : parts)
    if (part.is_there) html.open("li").element("a", part.title, {{"href", std::format("#{}", part.id)}}).close();
  html.close().close().close();
}

void add_headline(Html& html, const results::Study& study) {
  const auto sentences = headline(study);
  if (sentences.empty() && study.complete) return;
  html.open("section", {{"class", "headline"}, {"aria-label", "In short"}});
  html.element("h2", "In short");
  if (!study.complete) add_warning(html, "the study was interrupted; what was measured until then is here.");
  html.open("ul");
  for (const auto& sentence : sentences) html.open("li").element("strong", sentence.lead).text(" " + sentence.text).close();
  html.close().close();
}

void add_footer(Html& html) {
  html.open("footer");
  html.element("p", "Made by doxlab " DOXLAB_VERSION " from its results alone. This page loads nothing and contacts nobody.");
  html.open("details").element("summary", "Charts are drawn by Vega, Vega-Lite and Vega-Embed (BSD-3-Clause)");
  html.element("p", "Their scripts are part of this page, as Debian packages them; Vega's contains parts of D3 (ISC). The licences:");
  for (const auto* name : {"node-vega.copyright", "node-vega-lite.copyright", "node-vega-embed.copyright"})
    html.element("pre", embedded(name).text, {{"tabindex", "0"}, {"aria-label", "Licence"}});
  html.close().close();
}

}  // namespace
}  // namespace html

std::string html_report(const results::Study& study) {
  using namespace html;
  Html sections;
  add_transports(sections, study);
  add_loss(sections, study);
  add_accounting(sections, study);
  add_key_exchange(sections, study);
  add_warm(sections, study);
  add_dropmap(sections, study);
  add_ladder(sections, study);
  add_method(sections, study);
  const auto content = std::move(sections).finish();

  Html html;
  html.trusted("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  add_head(html, "doxlab: what encrypted DNS costs on the wire");
  html.open("body");
  add_header(html, study, parts_of(content));
  html.open("main", {{"id", "content"}, {"tabindex", "-1"}});
  add_headline(html, study);
  html.trusted(content).close();
  add_footer(html);
  for (const auto spec : kSpecs)
    html.json(std::string(embedded(std::format("{}.vl.json", spec)).text), {{"id", std::format("spec-{}", spec)}});
  for (const auto name : kScripts) html.open("script").trusted(embedded(name).text).close();
  html.close().close();
  return std::move(html).finish() + "\n";
}

}  // namespace doxlab::report
