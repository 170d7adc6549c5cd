#include "dnscrypt/keys.hpp"

#include <gtest/gtest.h>

namespace doxlab::dnscrypt {
namespace {

TEST(ParseKey, ReadsWhatOperatorsExchange) {
  const auto key = ProviderKey::generate().public_key();
  const auto plain = to_hex(key);
  std::string upper, grouped;
  for (std::size_t k = 0; k < plain.size(); ++k) {
    upper += static_cast<char>(std::toupper(plain[k]));
    grouped += k > 0 && k % 4 == 0 ? ":" : "";
    grouped += plain[k];
  }
  for (const auto& text : {plain, upper, grouped}) {
    const auto parsed = parse_key(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, key) << text;
  }
}

TEST(ParseKey, RefusesAnythingElse) {
  const std::string digits(64, 'a');
  for (const auto& text : {std::string(), digits.substr(1), digits.substr(2), digits + "a", digits + "aa",
                           digits + "x", "0x" + digits, digits.substr(1) + "g"}) {
    const auto parsed = parse_key(text);
    EXPECT_FALSE(parsed) << text;
  }
}

}  // namespace
}  // namespace doxlab::dnscrypt
