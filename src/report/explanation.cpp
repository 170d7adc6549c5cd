#include "report/explanation.hpp"

#include <algorithm>
#include <format>
#include <vector>

#include "report/table.hpp"

namespace doxlab::report {
namespace {

using enum Table::Align;

std::string milliseconds(double ms) { return std::format("{:.3f}", ms); }

/// "0, 3, 4": the packets of a span or finding; long lists are cut.
std::string numbers(const std::vector<std::uint32_t>& packets) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < packets.size() && i < kMost; ++i) out += std::format("{}{}", i == 0 ? "" : ", ", packets[i]);
  if (packets.size() > kMost) out += std::format(" and {} more", packets.size() - kMost);
  return out;
}

Document packets_text(const results::Explanation& explanation) {
  Table table({{"packet", Right}, {"sent ms", Right}, {"", Left}, {"arrived ms", Right}, {"IP bytes", Right}, {"what it carried", Left}});
  for (std::size_t i = 0; i < explanation.packets.size(); ++i) {
    const auto& packet = explanation.packets[i];
    table.add_row({std::format("{}", i), milliseconds(packet.sent_ms), packet.direction == "c2s" ? "→" : "←",
                   packet.fate != "delivered" ? packet.fate : packet.delivered_ms ? milliseconds(*packet.delivered_ms) : "-",
                   std::format("{}", packet.ip_bytes), packet.carried});
  }
  return Document(table);
}

Document time_text(const results::Explanation& explanation) {
  Table table({{"from ms", Right}, {"ms", Right}, {"where", Left}, {"cause", Left}, {"packets", Left}});
  double sum = 0;
  for (const auto& span : explanation.spans) {
    const auto where = span.at == "c2s" ? "to server" : span.at == "s2c" ? "to client" : span.at;
    table.add_row({milliseconds(span.begin_ms), milliseconds(span.ms), where, span.name, numbers(span.packets)});
    sum += span.ms;
  }
  return Document(table) + std::format("Sum {:.3f} ms, start to answer.\n", sum);
}

Document bytes_text(const results::Explanation& explanation) {
  Table table({{"owner", Left}, {"to server", Right}, {"to client", Right}, {"after the answer", Right}, {"sent again", Right}});
  std::vector<std::pair<std::string, results::OwnedBytes>> rows(explanation.ledger.begin(), explanation.ledger.end());
  const auto total_of = [](const results::OwnedBytes& owned) { return owned.c2s + owned.s2c + owned.after_c2s + owned.after_s2c; };
  std::ranges::stable_sort(rows, std::ranges::greater{}, [&](const auto& row) { return total_of(row.second); });
  results::OwnedBytes sum;
  const auto add_row = [&](std::string name, const results::OwnedBytes& owned) {
    std::ranges::replace(name, '_', ' ');
    table.add_row({std::move(name), std::format("{}", owned.c2s), std::format("{}", owned.s2c),
                   std::format("{}", owned.after_c2s + owned.after_s2c), std::format("{}", owned.repeated)});
  };
  for (const auto& [name, owned] : rows) {
    add_row(name, owned);
    sum.c2s += owned.c2s;
    sum.s2c += owned.s2c;
    sum.after_c2s += owned.after_c2s;
    sum.after_s2c += owned.after_s2c;
    sum.repeated += owned.repeated;
  }
  add_row("sum", sum);
  return Document(table);
}

std::string headline(const results::Explanation& explanation) {
  std::string out = explanation.what;
  if (!explanation.transport.empty() && !out.starts_with(explanation.transport)) out += ", " + explanation.transport;
  if (!explanation.ms) return out + std::format(": no answer ({}{}{})\n", explanation.outcome,
                                                explanation.reason.empty() ? "" : ", ", explanation.reason);
  out += std::format(": {} after {:.3f} ms, {} round trip{}", explanation.outcome, *explanation.ms,
                     explanation.round_trips.size(), explanation.round_trips.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < explanation.round_trips.size(); ++i) {
    auto need = explanation.round_trips[i].need;
    std::ranges::replace(need, '_', ' ');
    out += (i == 0 ? ": " : ", ") + need;
  }
  return out + '\n';
}

}  // namespace

Document explanation_text(const results::Explanation& explanation) {
  Document out = headline(explanation);
  if (!explanation.is_whole) out += std::format("Partial: {}\n", explanation.caveat);
  for (const auto& found : explanation.findings)
    out += std::format("* {} (packets {})\n", found.sentence, numbers(found.packets));
  out += "\n" + packets_text(explanation);
  if (!explanation.spans.empty()) out += "\nWhere the time went\n" + time_text(explanation);
  if (const auto& stall = explanation.stall)
    out += std::format("Amplification limit: received {} bytes of UDP payload, budget {}, sent {}, flight {}, shortfall {}.\n",
                       stall->received, stall->budget, stall->sent, stall->flight, stall->shortfall);
  out += "\nWhere the bytes went\n" + bytes_text(explanation);
  return out;
}

}  // namespace doxlab::report
