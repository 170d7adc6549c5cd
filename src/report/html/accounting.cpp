#include "report/html/sections.hpp"

#include <format>

#include "report/html/parts.hpp"
#include "report/order.hpp"

namespace doxlab::report::html {
namespace {

using Accounts = std::vector<std::pair<std::string, const results::Accounting*>>;  ///< by transport, in order

template <class Run>
Accounts accounts_of(const std::optional<Run>& run) {
  Accounts out;
  if (!run) return out;
  for (const auto* key : in_order(run->results))
    if (const auto& accounting = run->results.at(key).accounting; accounting && accounting->answered > 0)
      out.emplace_back(key, &*accounting);
  return out;
}

/// Milliseconds of a group, or bytes; those towards the server are drawn to the left.
struct Share {
  std::string transport, group;
  std::size_t order = 0;
  double value = 0;
  std::string text, parts;
};

struct ShareData {
  std::vector<Share> shares;
  std::vector<std::string> transports;
  Scale scale;
  std::string direction_left = "to the server", direction_right = "to the client";
};

/// The groups that have anything.
std::vector<Paint> used(const std::vector<Share>& shares, const std::vector<Paint>& groups) {
  std::vector<Paint> out;
  for (const auto& group : groups)
    for (const auto& share : shares)
      if (share.group == group.name) {
        out.push_back(group);
        break;
      }
  return out;
}

std::string of_parts(const std::vector<std::string>& parts) {
  std::string out;
  for (const auto& part : parts) out += (out.empty() ? "" : "; ") + part;
  return out;
}

std::vector<Share> time_shares(const Accounts& accounts) {
  std::vector<Share> out;
  const auto& groups = cause_groups();
  for (const auto& [key, accounting] : accounts) {
    std::vector<double> sums(groups.size());
    std::vector<std::vector<std::string>> parts(groups.size());
    for (const auto& [cause, total] : accounting->causes) {
      const auto group = group_of_cause(cause);
      sums[group] += total.mean_ms;
      parts[group].push_back(std::format("{} {}", total.name, ms_text(total.mean_ms)));
    }
    for (std::size_t i = 0; i < groups.size(); ++i)
      if (sums[i] > 0) out.push_back({transport_name(key), groups[i].name, i, sums[i], ms_text(sums[i]), of_parts(parts[i])});
  }
  return out;
}

std::vector<Share> byte_shares(const Accounts& accounts) {
  std::vector<Share> out;
  const auto& groups = owner_groups();
  for (const auto& [key, accounting] : accounts) {
    for (const bool to_server : {true, false}) {
      std::vector<double> sums(groups.size());
      std::vector<std::vector<std::string>> parts(groups.size());
      for (const auto& [owner, mean] : accounting->ledger) {
        const double bytes = to_server ? mean.c2s : mean.s2c;
        if (!(bytes > 0)) continue;
        const auto group = group_of_owner(owner);
        sums[group] += bytes;
        auto name = owner;
        for (auto& c : name)
          if (c == '_') c = ' ';
        parts[group].push_back(std::format("{} {}", name, whole(bytes)));
      }
      for (std::size_t i = 0; i < groups.size(); ++i)
        if (sums[i] > 0)
          out.push_back({transport_name(key), groups[i].name, i, to_server ? -sums[i] : sums[i],
                         std::format("{} bytes {}", whole(sums[i]), to_server ? "up" : "down"), of_parts(parts[i])});
    }
  }
  return out;
}

/// One column for each group that is used, one row for each transport.
void add_share_table(Html& html, std::string_view caption, const std::vector<Share>& shares, const std::vector<Paint>& groups,
                     const std::vector<std::string>& transports) {
  std::vector<Column> columns = {{"transport", true}};
  for (const auto& group : groups) columns.push_back({group.name});
  std::vector<std::vector<std::string>> rows;
  for (const auto& transport : transports) {
    std::vector<std::string> row = {transport};
    for (const auto& group : groups) {
      std::string cell;
      for (const auto& share : shares)
        if (share.transport == transport && share.group == group.name) cell += (cell.empty() ? "" : ", ") + share.text;
      row.push_back(cell.empty() ? "–" : cell);
    }
    rows.push_back(std::move(row));
  }
  add_table(html, caption, columns, rows);
}

void add_shares(Html& html, std::string spec, std::string_view title, const std::vector<Share>& shares,
                const std::vector<Paint>& groups, const Accounts& accounts, std::string caption) {
  ShareData data{.shares = shares};
  for (const auto& [key, accounting] : accounts) data.transports.push_back(transport_name(key));
  const auto legend = used(shares, groups);
  data.scale = scale_of(legend);
  html.element("h3", title);
  add_chart(html,
            {.spec = std::move(spec),
             .label = std::format("{}: one stacked bar for each of {}.", title, listed(data.transports)),
             .caption = std::move(caption),
             .data = to_json_text(data),
             .legend = legend},
            [&] { add_share_table(html, title, shares, legend, data.transports); });
}

void add_findings(Html& html, const Accounts& accounts) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [key, accounting] : accounts)
    for (const auto& [finding, total] : accounting->findings)
      rows.push_back({transport_name(key), std::format("{} of {}", total.lookups, accounting->lookups), total.sentence});
  if (rows.empty()) return;
  html.element("h3", "What was found in the packets");
  add_table(html, "Worded as in the first such lookup.", {{"transport", true}, {"lookups"}, {"finding", true}}, rows);
}

}  // namespace

namespace {

/// Who is not in the bars.
std::string unanswered_text(const results::LossRun& run) {
  std::vector<std::string> names;
  for (const auto* key : in_order(run.results))
    if (const auto& s = run.results.at(key); s.timeouts > 0)
      names.push_back(std::format("{} {}", transport_name(key), percent(s.no_answer_share)));
  auto out = retry_text(run.endpoints).empty() ? std::string() : std::format(" Measured{}.", retry_text(run.endpoints).substr(1));
  if (!names.empty()) out += std::format(" Lookups without an answer have no time and are not in them: {}.", listed(names));
  return out;
}

}  // namespace

void add_accounting(Html& html, const results::Study& study) {
  auto clean = accounts_of(study.packets);
  if (clean.empty()) clean = accounts_of(study.as_published);
  const auto lossy = accounts_of(study.loss);
  if (clean.empty() && lossy.empty()) return;
  open_section(html, "accounting", "Where the time and the bytes go",
               "Every lookup is taken apart from its packets. The parts of a bar sum to the mean time of a lookup and to its mean IP bytes, "
               "with nothing left over.");
  const std::string means = "Means over all answered lookups. Point at a part for what it consists of.";
  if (!clean.empty()) add_shares(html, "time", "Time on a clean path", time_shares(clean), cause_groups(), clean, means);
  if (!lossy.empty()) add_shares(html, "time", "Time under loss", time_shares(lossy), cause_groups(), lossy,
                                 means + unanswered_text(*study.loss));
  const auto& bytes = clean.empty() ? lossy : clean;
  add_shares(html, "bytes", "Bytes until the answer", byte_shares(bytes), owner_groups(), bytes,
             "To the left what the client sends, to the right what the server sends. Means over all lookups.");
  auto all = accounts_of(study.loss);
  add_findings(html, all.empty() ? clean : all);
  html.close();
}

}  // namespace doxlab::report::html
