#include "dissect/key_log.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Empty: not hexadecimal.
Bytes from_hex(std::string_view text) {
  Bytes out;
  if (text.size() % 2 != 0) return out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    out.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return out;
}

std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

Bytes* secret_named(TlsSecrets& secrets, std::string_view label) {
  if (label == "CLIENT_EARLY_TRAFFIC_SECRET") return &secrets.client_early;
  if (label == "CLIENT_HANDSHAKE_TRAFFIC_SECRET") return &secrets.client_handshake;
  if (label == "SERVER_HANDSHAKE_TRAFFIC_SECRET") return &secrets.server_handshake;
  if (label == "CLIENT_TRAFFIC_SECRET_0") return &secrets.client_application;
  if (label == "SERVER_TRAFFIC_SECRET_0") return &secrets.server_application;
  return nullptr;
}

}  // namespace

void KeyLog::add(std::string_view lines) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find('\n'), lines.size());
    add_line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void KeyLog::add_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto label = next_word(line);
  const auto random = from_hex(next_word(line));
  TlsSecrets unused;
  if (secret_named(unused, label) == nullptr || random.size() != TlsRandom{}.size()) return;
  auto secret = from_hex(next_word(line));
  if (secret.size() != 32 && secret.size() != 48) return;
  TlsRandom key;
  std::ranges::copy(random, key.begin());
  auto& slot = *secret_named(sessions_[key], label);
  if (slot.empty()) slot = std::move(secret);
}

std::string take_key_log(std::string& words) {
  constexpr std::size_t kLeastSecret = 32;
  std::string secrets, rest;
  for (std::string_view left = words; !left.empty();) {
    const auto line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    bool is_secret = false;
    for (auto from = line; !from.empty() && !is_secret; next_word(from)) {
      auto fields = from;
      const auto label = next_word(fields);
      const bool is_label = !label.empty() && std::ranges::all_of(label, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); });
      is_secret = is_label && from_hex(next_word(fields)).size() == TlsRandom{}.size() && from_hex(next_word(fields)).size() >= kLeastSecret;
      if (is_secret) secrets.append(from).push_back('\n');
    }
    if (!is_secret) rest.append(line).push_back('\n');
  }
  words = std::move(rest);
  return secrets;
}

const TlsSecrets* KeyLog::find(const TlsRandom& client_random) const {
  const auto found = sessions_.find(client_random);
  return found == sessions_.end() ? nullptr : &found->second;
}

}  // namespace doxlab::dissect
