#include "compare/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <format>
#include <span>

#include "base/toml.hpp"
#include "compare/quantity.hpp"

namespace doxlab::compare {
namespace {

constexpr std::array<std::string_view, 5> kExperiments = {"packets", "as_published", "pq", "warm", "loss"};
constexpr std::array<std::string_view, 8> kTransports = {"do53", "do53-tcp", "dnscrypt", "dnscrypt-tcp",
                                                         "dot",  "doh",      "doh3",     "doq"};

const Quantity* find_quantity(std::string_view name) {
  for (const auto all : {packets_quantities(), loss_quantities()})
    if (const auto found = std::ranges::find(all, name, &Quantity::name); found != all.end()) return &*found;
  return nullptr;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view symbol(Relation relation) {
  switch (relation) {
    case Relation::Equal: return "=";
    case Relation::Less: return "<";
    case Relation::AtMost: return "<=";
    case Relation::Greater: return ">";
    case Relation::AtLeast: return ">=";
  }
  return "";
}

/// "<= 400 ms": a relation (none: equal), a number, the quantity's unit or none.
Result<Limit> parse_limit(const Quantity& quantity, std::string_view text) {
  Limit out{.quantity = std::string(quantity.name)};
  auto rest = trimmed(text);
  for (const auto relation : {Relation::AtMost, Relation::AtLeast, Relation::Less, Relation::Greater, Relation::Equal}) {
    if (!rest.starts_with(symbol(relation))) continue;
    out.relation = relation;
    rest = trimmed(rest.substr(symbol(relation).size()));
    break;
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.value);
  if (error != std::errc{} || !std::isfinite(out.value))
    return fail(std::format("{} = \"{}\": not of the form \"<= 400{}{}\" (the relations are <, <=, =, >=, >)", quantity.name, text,
                            quantity.unit.empty() ? "" : " ", quantity.unit));
  const auto unit = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
  if (!unit.empty() && unit != quantity.unit)
    return fail(quantity.unit.empty() ? std::format("{} = \"{}\": a count has no unit", quantity.name, text)
                                      : std::format("{} = \"{}\": the unit is {}", quantity.name, text, quantity.unit));
  out.text = std::format("{} {} {}{}{}", quantity.name, symbol(out.relation), out.value, quantity.unit.empty() ? "" : " ",
                         quantity.unit);
  return out;
}

Result<Limit> read_limit(const Quantity& quantity, const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return parse_limit(quantity, *text);
  if (node.is_number()) return parse_limit(quantity, std::format("= {}", node.value<double>().value_or(0)));
  return fail(std::format("{}: neither a number nor a text like \"<= 400\"", quantity.name));
}

Result<std::vector<std::string>> read_names(std::string_view key, const toml::node& node) {
  const auto wrong = [&] { return fail(std::format("{}: a list of texts is expected, as in {} = [\"...\"]", key, key)); };
  const auto* list = node.as_array();
  if (list == nullptr || list->empty()) return wrong();
  std::vector<std::string> out;
  for (const auto& item : *list) {
    auto text = item.value_exact<std::string>();
    if (!text) return wrong();
    out.push_back(std::move(*text));
  }
  return out;
}

template <class Names>
std::string join(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

Result<void> check_known(std::string_view key, const std::vector<std::string>& names, const std::vector<std::string>& known) {
  for (const auto& name : names)
    if (std::ranges::find(known, name) == known.end()) return fail(std::format("{}: \"{}\" is none of {}", key, name, join(known)));
  return {};
}

Result<void> check_names(const Rule& rule, const Vocabulary& vocabulary) {
  if (auto good = check_known("no_cause", rule.no_cause, vocabulary.causes); !good) return good;
  if (auto good = check_known("no_finding", rule.no_finding, vocabulary.findings); !good) return good;
  if (!rule.experiment.empty() && std::ranges::find(kExperiments, rule.experiment) == kExperiments.end())
    return fail(std::format("experiment \"{}\" is none of {}", rule.experiment, join(kExperiments)));
  if (!rule.of_case.empty() && rule.experiment != "pq" && rule.experiment != "warm")
    return fail("case: only pq and warm have cases; say which with experiment");
  for (const auto& transport : rule.transports)
    if (std::ranges::find(kTransports, transport) == kTransports.end())
      return fail(std::format("transport \"{}\" is none of {}", transport, join(kTransports)));
  if (rule.limits.empty() && rule.no_cause.empty() && rule.no_finding.empty())
    return fail("it asserts nothing; give it a quantity (round_trips, p99, bytes_total ...), no_cause or no_finding");
  return {};
}

/// One key of a rule that is no quantity. False: not known.
Result<bool> read_key(Rule& rule, std::string_view key, const toml::node& node) {
  for (const auto& [name, place] : {std::pair<std::string_view, std::string*>{"name", &rule.name},
                                    {"experiment", &rule.experiment}, {"case", &rule.of_case}}) {
    if (key != name) continue;
    auto text = node.value_exact<std::string>();
    if (!text) return fail(std::format("{}: a text is expected", key));
    *place = std::move(*text);
    return true;
  }
  for (const auto& [name, place] : {std::pair<std::string_view, std::vector<std::string>*>{"transports", &rule.transports},
                                    {"no_cause", &rule.no_cause}, {"no_finding", &rule.no_finding}}) {
    if (key != name) continue;
    auto names = read_names(key, node);
    if (!names) return std::unexpected(names.error());
    *place = std::move(*names);
    return true;
  }
  if (key != "allow_noise") return false;
  const auto value = node.value_exact<bool>();
  if (!value) return fail("allow_noise: true or false is expected");
  rule.allow_noise = *value;
  return true;
}

Result<Rule> read_rule(const toml::table& table, const Vocabulary& vocabulary) {
  Rule rule;
  for (const auto& [key, node] : table) {
    const auto known = read_key(rule, key.str(), node);
    if (!known) return std::unexpected(known.error());
    if (*known) continue;
    const auto* quantity = find_quantity(key.str());
    if (quantity == nullptr) return fail(std::format("\"{}\" is no quantity and no key of a rule", key.str()));
    auto limit = read_limit(*quantity, node);
    if (!limit) return std::unexpected(limit.error());
    rule.limits.push_back(std::move(*limit));
  }
  if (const auto good = check_names(rule, vocabulary); !good) return std::unexpected(good.error());
  return rule;
}

}  // namespace

bool Limit::allows(double measured) const {
  switch (relation) {
    case Relation::Equal: return measured == value;
    case Relation::Less: return measured < value;
    case Relation::AtMost: return measured <= value;
    case Relation::Greater: return measured > value;
    case Relation::AtLeast: return measured >= value;
  }
  return false;
}

Result<std::vector<Rule>> parse_rules(std::string_view text, const Vocabulary& vocabulary) {
  const auto parsed = toml::parse(text);
  if (!parsed) {
    const auto& where = parsed.error().source().begin;
    return fail(std::format("line {}, column {}: {}", where.line, where.column, parsed.error().description()));
  }
  for (const auto& [key, node] : parsed.table())
    if (key.str() != "rule") return fail(std::format("\"{}\" is not known here; rules are tables that begin with [[rule]]", key.str()));
  const auto* list = parsed.table()["rule"].as_array();
  if (list == nullptr || list->empty()) return fail("there is no [[rule]] in it");
  std::vector<Rule> out;
  for (const auto& item : *list) {
    const auto name = std::format("rule {}", out.size() + 1);
    if (!item.is_table()) return fail(name + ": not a table; rules begin with [[rule]]");
    auto rule = read_rule(*item.as_table(), vocabulary);
    if (!rule) return fail(std::format("{} (line {}): {}", name, item.source().begin.line, rule.error().message));
    if (rule->name.empty()) rule->name = name;
    out.push_back(std::move(*rule));
  }
  return out;
}

}  // namespace doxlab::compare
