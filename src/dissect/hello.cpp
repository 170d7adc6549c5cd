// What the extensions of hellos say (RFC 8446 §4.2, RFC 6066, RFC 7301, RFC 9001 §8.2).
#include <algorithm>

#include "dissect/handshake.hpp"
#include "dissect/limits.hpp"

namespace doxlab::dissect {
namespace {

/// Calls `take` with a reader of each entry of a list until its end or the first that is malformed.
template <class Take>
void for_each_entry(ByteReader list, Take take) {
  while (!list.at_end()) {
    take(list);
    if (!list.ok()) return;
  }
}

std::vector<std::uint16_t> read_numbers(BytesView list) {
  std::vector<std::uint16_t> out;
  for (ByteReader in(list); in.remaining() >= 2;) out.push_back(in.u16());
  return out;
}

void read_key_share(HelloContent& out, ByteReader in, bool is_list, bool is_retry) {
  if (is_retry) {
    out.key_shares.push_back({in.u16(), 0});
    return;
  }
  const auto take = [&](ByteReader& entry) {
    const auto group = entry.u16();
    const auto length = entry.u16();
    if (entry.take(length).size() == length && entry.ok()) out.key_shares.push_back({group, length});
  };
  if (is_list)
    for_each_entry(ByteReader(in.take(in.u16())), take);
  else
    take(in);
}

void read_alpn(HelloContent& out, ByteReader in) {
  for_each_entry(ByteReader(in.take(in.u16())), [&](ByteReader& entry) {
    const auto name = entry.take(entry.u8());
    if (entry.ok()) out.alpn.emplace_back(as_text(name));
  });
}

void read_server_name(HelloContent& out, ByteReader in) {
  for_each_entry(ByteReader(in.take(in.u16())), [&](ByteReader& entry) {
    const auto type = entry.u8();
    const auto name = entry.take(entry.u16());
    if (entry.ok() && type == 0) out.server_name = as_text(name);
  });
}

void read_extension(HelloContent& out, std::uint16_t type, BytesView body, const HandshakeMessage& message) {
  ByteReader in(body);
  const bool from_client = message.type == HandshakeType::ClientHello;
  switch (type) {
    case kServerName:
      return read_server_name(out, in);
    case kSupportedGroups:
      out.groups = read_numbers(in.take(in.u16()));
      return;
    case kAlpn:
      return read_alpn(out, in);
    case kPreSharedKey:
      out.has_psk = true;
      return;
    case kEarlyData:
      out.has_early_data = true;
      return;
    case kSupportedVersions:
      out.versions = read_numbers(from_client ? in.take(in.u8()) : body);
      return;
    case kKeyShare:
      return read_key_share(out, in, from_client, message.is_hello_retry_request);
    case kQuicTransportParameters:
      out.transport_parameters = to_bytes(body);
      return;
    default:
      return;
  }
}

}  // namespace

HelloContent read_hello(const HandshakeMessage& message, BytesView octets) {
  HelloContent out;
  for (const auto& part : message.parts) {
    if (part.offset + std::size_t{part.length} > octets.size()) break;
    auto bytes = octets.subspan(part.offset, part.length);
    if (part.kind == PartKind::Random) {
      std::ranges::copy(bytes.first(out.random.size()), out.random.begin());
    } else if (part.kind == PartKind::CipherSuites) {
      // The client's list has its length in front.
      out.cipher_suites = read_numbers(message.type == HandshakeType::ClientHello ? bytes.subspan(2) : bytes);
    } else if (part.kind == PartKind::Extension) {
      read_extension(out, part.code, bytes.subspan(4), message);
    }
  }
  return out;
}

void Hellos::note(const HandshakeMessage& message, BytesView octets) {
  if (!message.is_complete) return;
  if (message.type == HandshakeType::ClientHello) {
    client = read_hello(message, octets);
    offered_early_data |= client->has_early_data;
  } else if (message.is_hello_retry_request) {
    has_hello_retry_request = true;
  } else if (message.type == HandshakeType::ServerHello) {
    server = read_hello(message, octets);
  } else if (message.type == HandshakeType::EncryptedExtensions) {
    encrypted_extensions = read_hello(message, octets);
  }
}

std::string Hellos::alpn() const {
  if (encrypted_extensions && !encrypted_extensions->alpn.empty()) return encrypted_extensions->alpn.front();
  // TLS 1.2 answers in the ServerHello (RFC 7301 §3.1).
  if (server && !server->alpn.empty()) return server->alpn.front();
  if (client && client->alpn.size() == 1) return client->alpn.front();
  return {};
}

void read_handshake_stream(BytesView stream, const Carrier& carrier, Epoch epoch, Layout& layout,
                           std::vector<HandshakeMessage>& messages, Hellos& hellos) {
  std::uint64_t at = 0;
  while (messages.size() < kMostItems) {
    auto message = read_handshake_message(stream, at);
    if (!message) break;
    message->carrier = carrier;
    message->epoch = epoch;
    add_to_layout(layout, *message, static_cast<std::uint32_t>(messages.size()));
    messages.push_back(*message);
    if (!message->is_complete) break;
    hellos.note(*message, stream.subspan(at, message->length));
    at += message->length;
  }
}

}  // namespace doxlab::dissect
