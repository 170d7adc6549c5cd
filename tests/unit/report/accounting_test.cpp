#include "report/accounting.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

namespace doxlab::report {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::map<std::string, results::CauseTotal> causes(const std::vector<std::pair<const char*, double>>& means) {
  std::map<std::string, results::CauseTotal> out;
  for (const auto& [name, mean] : means) out[name] = {.name = name, .lookups = 9, .mean_ms = mean, .max_ms = mean};
  return out;
}

std::size_t widest_line(const std::string& text) {
  std::size_t out = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    out = std::max(out, static_cast<std::size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; })));
  return out;
}

TEST(AccountingText, HasColumnsForWhatOccursOnly) {
  const results::Accounting dot{.lookups = 9, .answered = 9,
                                .causes = causes({{"tcp_handshake", 40}, {"tls_handshake", 40.25}, {"query", 40}, {"client_computing", 2}})};
  const auto text = time_text({{"dot", {"DoT", dot}}}).to_text();
  EXPECT_THAT(text, HasSubstr("handshake"));
  EXPECT_THAT(text, HasSubstr("80.2")) << "TCP and TLS together";
  EXPECT_THAT(text, HasSubstr("122.2")) << "the sum";
  for (const auto* absent : {"Retry", "3x limit", "PTO", "unexplained"}) EXPECT_THAT(text, Not(HasSubstr(absent)));
}

TEST(AccountingText, OfAllCausesAtOnceStaysNarrow) {
  const results::Accounting all{
      .lookups = 9, .answered = 9,
      .causes = causes({{"tcp_handshake", 1000.5}, {"quic_handshake", 1000.5}, {"hello_retry_request", 1000.5}, {"certificate_fetch", 1000.5},
                        {"retry", 1000.5}, {"amplification_limit", 1000.5}, {"congestion_window", 1000.5}, {"query", 1000.5},
                        {"loss_recovery", 1000.5}, {"syn_retransmission", 1000.5}, {"rto", 1000.5}, {"pto_initial", 1000.5},
                        {"client_computing", 1000.5}, {"unexplained", 1000.5}})};
  const auto text = time_text({{"dnscrypt-tcp", {"DNSCrypt/TCP", all}}}).to_text();
  EXPECT_LE(widest_line(text), 122u) << text;
  EXPECT_THAT(text, HasSubstr("other trips")) << "columns that belong together are one";
  const results::Accounting bytes{
      .lookups = 1, .ledger = {{"ip_header", {100}}, {"quic_tag", {100}}, {"quic_padding", {100}}, {"tls_record", {100}},
                               {"client_hello", {100}}, {"key_share", {100}}, {"certificate", {0, 1000}}, {"handshake", {100}},
                               {"http_framing", {100}}, {"dns_query", {100}}, {"dnscrypt", {100}}, {"other", {100}}}};
  EXPECT_LE(widest_line(bytes_text({{"dnscrypt-tcp", {"DNSCrypt/TCP", bytes}}}).to_text()), 125u);
}

TEST(AccountingText, NamesLookupsToExplain) {
  const results::Accounting doq{.lookups = 300,
                                .answered = 299,
                                .findings = {{"amplification_stall", {.lookups = 12, .first_sample = 7}}, {"of_the_future", {.lookups = 1}}},
                                .unexplained = {{17, 31.4}}};
  const auto text = findings_text({{"doq", {"DoQ", doq}}}).to_text();
  EXPECT_THAT(text, HasSubstr("* DoQ: the server stood at three times what it had received in 12 of 300 lookups (explain --sample doq/7)\n"));
  EXPECT_THAT(text, HasSubstr("of_the_future in 1 of 300"));
  EXPECT_THAT(text, HasSubstr("31.4 ms without a known cause: explain --sample doq/17\n"));
}

TEST(AccountingText, IsEmptyWhereNothingWasTakenApart) {
  EXPECT_THAT(time_text({}).to_text(), IsEmpty());
  EXPECT_THAT(bytes_text({}).to_text(), IsEmpty());
  EXPECT_THAT(findings_text({}).to_text(), IsEmpty());
  results::LossRun merged;
  merged.results["doq"].n = 5;
  EXPECT_THAT(accounted(merged), IsEmpty());
}

}  // namespace
}  // namespace doxlab::report
