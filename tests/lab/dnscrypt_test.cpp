// DNSCrypt in the lab: what the certificate costs, and that it is fetched once.

#include <gmock/gmock.h>

#include "support/json.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace doxlab {
namespace {

constexpr double kIpAndUdp = 20 + 8;
constexpr double kTcpOverUdp = 24 + 2;  // a longer header, with timestamps, and the length before the message
// Header, 2.dnscrypt-cert.dns.doxlab.test, type and class.
constexpr double kCertificateQuery = 12 + 33 + 4;
// A record: pointer to the name, type, class, TTL, length, and a string of 124 octets.
constexpr double kCertificateRecord = 2 + 2 + 2 + 4 + 2 + 1 + 124;

test::Json run_packets(std::vector<std::string> arguments) {
  const test::TemporaryFolder folder;
  arguments.insert(arguments.begin(), {"packets", "-n", "3", "--json", folder.file("out.json")});
  const auto finished = test::run_program(test::doxlab(arguments));
  EXPECT_EQ(finished.status, 0) << finished;
  return test::parse_json(folder.read("out.json"));
}

TEST(DnscryptInTheLab, ColdLookupOverUdpIsTheCertificateAndTheQuery) {
  const auto run = run_packets({"--only", "dnscrypt"});
  const auto& result = run["results"]["dnscrypt"];
  EXPECT_EQ(test::text(result, "transport"), "DNSCrypt");
  EXPECT_EQ(test::number(result, "round_trips"), 2);
  EXPECT_EQ(test::number(result, "flights"), 2);
  EXPECT_EQ(test::number(result, "certificate_pkts"), 2);
  // Both constructions are offered, so there are two records.
  const double fetch = 2 * (kIpAndUdp + kCertificateQuery) + 2 * kCertificateRecord;
  EXPECT_EQ(test::number(result, "certificate_bytes"), fetch);
  // Query: magic, key, nonce, tag and 256 octets; answer: magic, nonce, tag and one block of 64 octets.
  EXPECT_EQ(test::number(result, "bytes_total") - fetch,
            kIpAndUdp + 8 + 32 + 12 + 16 + 256 + kIpAndUdp + 8 + 24 + 16 + 64);
  // One round trip for the certificate, one for the rest; the bounds are wide for a busy machine.
  EXPECT_GE(test::number(result, "certificate_ms"), 40);
  EXPECT_GE(test::number(result, "ms"), test::number(result, "certificate_ms") + 40);
  for (const auto& sample : result["raw"].get_array()) {
    EXPECT_EQ(test::text(sample, "cipher"), "X25519-XChaCha20Poly1305");
    EXPECT_EQ(test::number(sample, "certificate_pkts"), 2);
    EXPECT_EQ(test::number(sample, "certificate_ms"), test::number(sample, "secure_ms"));
  }
  EXPECT_EQ(run["endpoints"]["dnscrypt_constructions"].size(), 2u);
}

TEST(DnscryptInTheLab, ColdLookupOverTcpConnectsFirst) {
  const auto result = run_packets({"--only", "dnscrypt-tcp"})["results"]["dnscrypt-tcp"];
  EXPECT_EQ(test::text(result, "transport"), "DNSCrypt/TCP");
  EXPECT_EQ(test::number(result, "round_trips"), 3);
  EXPECT_EQ(test::number(result, "certificate_pkts"), 2);
  EXPECT_EQ(test::number(result, "certificate_bytes"),
            2 * (kIpAndUdp + kTcpOverUdp + kCertificateQuery) + 2 * kCertificateRecord);
}

TEST(DnscryptInTheLab, OneConstructionIsOneCertificate) {
  for (const auto& [option, cipher] : {std::pair{"xsalsa20", "X25519-XSalsa20Poly1305"},
                                       std::pair{"xchacha20", "X25519-XChaCha20Poly1305"}}) {
    const auto run = run_packets({"--only", "dnscrypt", "--construction", option});
    const auto& result = run["results"]["dnscrypt"];
    EXPECT_EQ(test::number(result, "certificate_bytes"),
              2 * (kIpAndUdp + kCertificateQuery) + kCertificateRecord);
    for (const auto& sample : result["raw"].get_array()) EXPECT_EQ(test::text(sample, "cipher"), cipher);
    ASSERT_EQ(run["endpoints"]["dnscrypt_constructions"].size(), 1u);
    EXPECT_EQ(run["endpoints"]["dnscrypt_constructions"][0].get<std::string>(), cipher);
  }
}

TEST(DnscryptInTheLab, TruncatedAnswerComesOverTcpWithoutASecondFetch) {
  const test::TemporaryFolder folder;
  std::string zone =
      "example.org. 60 IN SOA ns.example.org. host.example.org. 1 60 60 60 60\n"
      "large.example.org. 60 IN TXT";
  for (int k = 0; k < 10; ++k) zone += " " + std::string(200, 'x');
  const auto result = run_packets({"--only", "dnscrypt", "--qname", "large.example.org", "--qtype", "TXT",
                                   "--zone", folder.write("zone", zone)})["results"]["dnscrypt"];
  // Certificate, query, TCP handshake, query again.
  EXPECT_EQ(test::number(result, "round_trips"), 4);
  EXPECT_EQ(test::number(result, "certificate_pkts"), 2);
  EXPECT_GT(test::number(result, "bytes_s2c"), 2000);
  for (const auto& sample : result["raw"].get_array()) {
    EXPECT_TRUE(sample["tcp_fallback"].get<bool>());
    EXPECT_LT(test::number(sample, "secure_ms"), test::number(sample, "connect_ms"));
  }
}

TEST(DnscryptInTheLab, OtherTransportsHaveNoCertificateFetch) {
  const auto run = run_packets({"--only", "do53,dot"});
  for (const auto& [transport, result] : run["results"].get_object())
    EXPECT_FALSE(result.contains("certificate_ms")) << transport;
}

TEST(DnscryptInTheLab, UnknownConstructionIsWrongUsage) {
  const auto finished = test::run_program(test::doxlab({"packets", "--construction", "aes"}));
  EXPECT_EQ(finished.status, 2) << finished;
  EXPECT_THAT(finished.errors, testing::HasSubstr("xchacha20"));
}

}  // namespace
}  // namespace doxlab
