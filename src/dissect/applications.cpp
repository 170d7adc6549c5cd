#include "dissect/applications.hpp"

#include <algorithm>

namespace doxlab::dissect {
namespace {

using link::Direction;

/// DNSCrypt: magic of responses, then a nonce of 24 octets; in queries the magic of a certificate (8), the
/// client's key (32) and half a nonce (12).
constexpr std::string_view kResolverMagic = "r6fnvWj8";
constexpr std::size_t kDnscryptResponseHeader = 8 + 24, kDnscryptQueryHeader = 8 + 32 + 12;

bool starts_with(BytesView bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), as_bytes(text));
}

void name_dnscrypt(Layout& layout, std::uint64_t begin, std::uint64_t length, Direction direction) {
  const auto header = direction == Direction::ToServer ? kDnscryptQueryHeader : kDnscryptResponseHeader;
  const auto middle = begin + std::min<std::uint64_t>(header, length);
  layout.add(begin, middle, {.kind = TileKind::DnscryptHeader});
  layout.add(middle, begin + length, {.kind = TileKind::DnscryptCiphertext});
}

/// Calls `take(begin, octets)` for each message of a stream of messages with lengths in front.
template <class Take>
void for_each_framed(BytesView stream, Take take) {
  for (std::size_t at = 0; stream.size() - at >= 2;) {
    const std::size_t length = ByteReader(stream.subspan(at)).u16();
    if (length > stream.size() - at - 2) return;
    take(at + 2, stream.subspan(at + 2, length));
    at += 2 + length;
  }
}

/// Its first message is DNS, or is still on its way.
bool looks_like_dns_stream(BytesView stream) {
  bool is_first = true, is_dns = false;
  for_each_framed(stream, [&](std::size_t, BytesView message) {
    if (std::exchange(is_first, false)) is_dns = is_dns_message(message);
  });
  return is_dns;
}

bool has_dnscrypt_response(BytesView stream) {
  bool found = false;
  for_each_framed(stream,
                  [&](std::size_t, BytesView message) { found |= starts_with(message, kResolverMagic); });
  return found;
}

void read_dnscrypt_stream(Dissection& out, BytesView stream, const Carrier& carrier, Layout& layout) {
  for_each_framed(stream, [&](std::size_t begin, BytesView message) {
    const auto index = static_cast<std::uint32_t>(out.dns_messages.size());
    if (!is_dns_message(message)) {
      layout.add(begin - 2, begin, {.kind = TileKind::DnsLengthPrefix});
      name_dnscrypt(layout, begin, message.size(), carrier.direction);
      return;
    }
    layout.add(begin - 2, begin, {.kind = TileKind::DnsLengthPrefix, .item = index});
    auto dns = read_dns_message(message, layout, begin, index);
    dns.carrier = carrier;
    dns.stream_offset = begin;
    out.dns_messages.push_back(std::move(dns));
  });
}

/// Names plaintext of a stream: `client` and `stream` are the client's and that of the carrier's direction.
void read_plaintext(Dissection& out, BytesView client, BytesView stream, const Carrier& carrier,
                    bool is_http2, bool is_dns, Layout& layout) {
  if (is_http2 || looks_like_http2(client))
    read_http2(stream, carrier, {out.http_frames, out.dns_messages}, layout);
  else if (is_dns || looks_like_dns_stream(client))
    read_dns_stream(stream, carrier, 0, layout, out.dns_messages);
}

void read_tls_plaintext(Dissection& out, std::uint32_t index) {
  auto& connection = out.tcp_connections[index];
  auto& tls = *connection.tls;
  const auto alpn = tls.hellos.alpn();
  const bool is_http2 = alpn == "h2",
             is_dns = alpn == "dot" || (alpn.empty() && connection.server.port == kDotPort);
  const auto& client = tls.application[side(Direction::ToServer)];
  for (const auto direction : kDirections)
    read_plaintext(out, client, tls.application[side(direction)], {CarrierKind::Tcp, index, direction},
                   is_http2, is_dns, tls.application_layout[side(direction)]);
  read_plaintext(out, tls.rejected_early, tls.rejected_early, {CarrierKind::Tcp, index, Direction::ToServer},
                 is_http2, is_dns, tls.rejected_early_layout);
}

}  // namespace

void read_tcp_streams(Dissection& out, std::uint32_t index, const KeyLog& keys) {
  auto& connection = out.tcp_connections[index];
  const auto client = connection.streams[side(Direction::ToServer)].prefix();
  const auto server = connection.streams[side(Direction::ToClient)].prefix();
  if (looks_like_tls(client) || (client.empty() && looks_like_tls(server))) {
    connection.tls = dissect_tls(connection.streams, keys, index, out.records, out.handshake);
    read_tls_plaintext(out, index);
    for (const auto direction : kDirections)
      connection.layout[side(direction)] = tls_layout(*connection.tls, direction, out.records);
    return;
  }
  const bool is_dnscrypt = has_dnscrypt_response(server);
  for (const auto direction : kDirections) {
    const auto stream = connection.streams[side(direction)].prefix();
    auto& layout = connection.layout[side(direction)];
    const Carrier carrier{CarrierKind::Tcp, index, direction};
    if (is_dnscrypt)
      read_dnscrypt_stream(out, stream, carrier, layout);
    else
      read_plaintext(out, client, stream, carrier, false, connection.server.port == kDnsPort, layout);
  }
}

void read_quic_streams(Dissection& out, std::uint32_t index) {
  auto& connection = out.quic_connections[index];
  const auto alpn = connection.hellos.alpn();
  const bool is_http3 = alpn.starts_with("h3") || (alpn.empty() && connection.server.port == kHttpsPort);
  const bool is_doq = alpn.starts_with("doq") || (alpn.empty() && connection.server.port == kDotPort);
  for (auto& [id, stream] : connection.streams) {
    for (const auto direction : kDirections) {
      auto& here = stream[side(direction)];
      const Carrier carrier{CarrierKind::Quic, index, direction};
      if (is_http3)
        read_http3_stream(here.data.prefix(), carrier, id, {out.http_frames, out.dns_messages}, here.layout);
      else if (is_doq)
        read_dns_stream(here.data.prefix(), carrier, id, here.layout, out.dns_messages);
    }
  }
}

bool shows_dnscrypt(BytesView payload) {
  if (starts_with(payload, kResolverMagic)) return true;
  // The first two labels of a provider's name (draft-denis-dprive-dnscrypt-11 §5.5).
  constexpr std::string_view kCertificateName = "\x01" "2" "\x0d" "dnscrypt-cert";
  return !std::ranges::search(payload.first(std::min<std::size_t>(payload.size(), 512)), as_bytes(kCertificateName)).empty();
}

Layout read_datagram(Dissection& out, BytesView payload, Direction direction, std::uint16_t server_port,
                     bool is_dnscrypt) {
  Layout layout;
  if (server_port == kDnsPort || is_dns_message(payload)) {
    auto message = read_dns_message(payload, layout, 0, static_cast<std::uint32_t>(out.dns_messages.size()));
    message.carrier = {CarrierKind::Udp, kNone, direction};
    out.dns_messages.push_back(std::move(message));
  } else if (is_dnscrypt) {
    name_dnscrypt(layout, 0, payload.size(), direction);
  }
  return layout;
}

}  // namespace doxlab::dissect
