#include <format>

#include "resolver/resolver.hpp"

namespace doxlab::resolver {
namespace {

constexpr std::string_view kRecords = R"($ORIGIN example.com.
$TTL 300
@       SOA   ns1 hostmaster 2026010100 3600 600 604800 300
@       NS    ns1
@       NS    ns2
@       A     192.0.2.1
@       AAAA  2001:db8::1
@       MX    10 mail
@       TXT   "v=spf1 mx -all"
@       HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.1 ipv6hint=2001:db8::1
ns1     A     192.0.2.53
ns1     AAAA  2001:db8::53
ns2     A     192.0.2.54
ns2     AAAA  2001:db8::54
mail    A     192.0.2.25
mail    AAAA  2001:db8::25
www     CNAME @
small   A     192.0.2.10
*.wild  A     192.0.2.99
*.wild  AAAA  2001:db8::99
*.wild  TXT   "any name below wild.example.com"
)";

/// TXT records of one string each, `count` times 244 octets of rdata. All differ; none is compressible.
std::string large_txt(std::string_view name, int count) {
  constexpr std::size_t kStringOctets = 243;  // with owner pointer and fixed fields: 256 octets a record
  std::string out;
  for (int i = 1; i <= count; ++i) {
    std::string text = std::format("{} record {} of {} ", name, i, count);
    for (char letter = 'a'; text.size() < kStringOctets; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      text.push_back(letter);
    }
    out += std::format("{} TXT \"{}\"\n", name, text);
  }
  return out;
}

}  // namespace

std::string Zone::built_in_text() {
  // 16 records make an answer of about 4 KB, 80 one of about 20 KB.
  return std::string(kRecords) + large_txt("big", 16) + large_txt("huge", 80);
}

std::shared_ptr<const Zone> Zone::built_in() {
  static const auto kZone = Zone::parse(built_in_text()).value();
  return kZone;
}

}  // namespace doxlab::resolver
