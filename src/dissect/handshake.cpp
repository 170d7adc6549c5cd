#include "dissect/handshake.hpp"

#include <algorithm>
#include <array>

namespace doxlab::dissect {
namespace {

constexpr std::uint32_t kHeaderBytes = 4;
/// RFC 8446 §4.1.3: SHA-256 of "HelloRetryRequest".
constexpr TlsRandom kRetryRandom = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                    0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                    0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

/// Cuts a message into parts while it is read: each mark names what was read since the last.
class PartReader {
 public:
  explicit PartReader(BytesView message) : in(message) {
    in.skip(kHeaderBytes);
    mark(PartKind::Header);
  }

  ByteReader in;
  std::vector<HandshakePart> parts;

  void mark(PartKind kind, std::uint16_t code = 0) {
    const auto at = static_cast<std::uint32_t>(in.position());
    if (at > marked_) parts.push_back({kind, code, marked_, at - marked_});
    marked_ = at;
  }

  void extensions() {
    const std::size_t length = in.u16();
    mark(PartKind::Fields);
    for (const auto end = in.position() + length; in.ok() && in.position() < end;) {
      const auto type = in.u16();
      in.skip(in.u16());
      mark(PartKind::Extension, type);
    }
  }

 private:
  std::uint32_t marked_ = 0;
};

void cut_hello(PartReader& out, bool from_client) {
  out.in.skip(2);
  out.mark(PartKind::Fields);
  out.in.skip(TlsRandom{}.size());
  out.mark(PartKind::Random);
  out.in.skip(out.in.u8());
  out.mark(PartKind::SessionId);
  out.in.skip(from_client ? out.in.u16() : 2);
  out.mark(PartKind::CipherSuites);
  out.in.skip(from_client ? out.in.u8() : 1);
  out.extensions();
}

void cut_certificate(PartReader& out) {
  out.in.skip(out.in.u8());
  const std::size_t length = out.in.u24();
  out.mark(PartKind::Fields);
  const auto end = out.in.position() + length;
  for (std::uint16_t place = 0; out.in.ok() && out.in.position() < end; ++place) {
    out.in.skip(out.in.u24());
    out.mark(PartKind::Certificate, place);
    out.in.skip(out.in.u16());
    out.mark(PartKind::CertificateExtensions, place);
  }
}

void cut_compressed_certificate(PartReader& out) {
  const auto algorithm = out.in.u16();
  out.in.skip(3);
  const auto length = out.in.u24();
  out.mark(PartKind::Fields);
  out.in.skip(length);
  out.mark(PartKind::CompressedCertificate, algorithm);
}

void cut_new_session_ticket(PartReader& out) {
  out.in.skip(8);
  out.in.skip(out.in.u8());
  out.mark(PartKind::Fields);
  out.in.skip(out.in.u16());
  out.mark(PartKind::Ticket);
  out.extensions();
}

void cut(PartReader& out, HandshakeType type) {
  switch (type) {
    case HandshakeType::ClientHello:
      return cut_hello(out, true);
    case HandshakeType::ServerHello:
      return cut_hello(out, false);
    case HandshakeType::EncryptedExtensions:
      return out.extensions();
    case HandshakeType::CertificateRequest:
      out.in.skip(out.in.u8());
      return out.extensions();
    case HandshakeType::Certificate:
      return cut_certificate(out);
    case HandshakeType::CompressedCertificate:
      return cut_compressed_certificate(out);
    case HandshakeType::NewSessionTicket:
      return cut_new_session_ticket(out);
    case HandshakeType::CertificateVerify: {
      const auto scheme = out.in.u16();
      const auto length = out.in.u16();
      out.mark(PartKind::Fields);
      out.in.skip(length);
      return out.mark(PartKind::Signature, scheme);
    }
    case HandshakeType::Finished:
      out.in.rest();
      return out.mark(PartKind::VerifyData);
    case HandshakeType::KeyUpdate:
      out.in.skip(1);
      return out.mark(PartKind::Fields);
    default:
      out.in.rest();
      return out.mark(PartKind::Body);
  }
}

/// Header and body alone, for what does not have the shape of its type.
std::vector<HandshakePart> uncut(std::uint32_t length) {
  std::vector<HandshakePart> parts = {{PartKind::Header, 0, 0, kHeaderBytes}};
  if (length > kHeaderBytes) parts.push_back({PartKind::Body, 0, kHeaderBytes, length - kHeaderBytes});
  return parts;
}

}  // namespace

std::uint32_t HandshakeMessage::extension_bytes(std::uint16_t extension) const {
  for (const auto& part : parts)
    if (part.kind == PartKind::Extension && part.code == extension) return part.length;
  return 0;
}

std::optional<HandshakeMessage> read_handshake_message(BytesView stream, std::uint64_t at) {
  if (at > stream.size() || stream.size() - at < kHeaderBytes) return std::nullopt;
  const auto octets = stream.subspan(at);
  ByteReader in(octets);
  HandshakeMessage out;
  out.type = static_cast<HandshakeType>(in.u8());
  if (to_string(out.type).empty()) return std::nullopt;
  out.length = static_cast<std::uint32_t>(kHeaderBytes + in.u24());
  out.stream_offset = at;
  out.is_complete = octets.size() >= out.length;
  if (!out.is_complete) {
    out.parts = {{PartKind::Body, 0, 0, out.length}};
    return out;
  }
  const auto message = octets.first(out.length);
  PartReader parts(message);
  cut(parts, out.type);
  const bool fits = parts.in.ok() && parts.in.at_end() && parts.parts.size() <= 0xffff;  // Label::part
  out.parts = fits ? std::move(parts.parts) : uncut(out.length);
  constexpr std::size_t kRandomAt = kHeaderBytes + 2;
  out.is_hello_retry_request =
      out.type == HandshakeType::ServerHello && message.size() >= kRandomAt + kRetryRandom.size() &&
      std::ranges::equal(message.subspan(kRandomAt, kRetryRandom.size()), kRetryRandom);
  return out;
}

void add_to_layout(Layout& layout, const HandshakeMessage& message, std::uint32_t index,
                   std::uint64_t limit) {
  for (std::size_t i = 0; i < message.parts.size(); ++i) {
    const auto& part = message.parts[i];
    const auto begin = message.stream_offset + part.offset;
    layout.add(begin, std::min(begin + part.length, limit),
               {.kind = TileKind::TlsHandshake,
                .item = index,
                .item_offset = part.offset,
                .part = static_cast<std::uint16_t>(i)});
  }
}

std::string_view to_string(Epoch epoch) {
  switch (epoch) {
    case Epoch::Initial:
      return "initial";
    case Epoch::Early:
      return "0-rtt";
    case Epoch::Handshake:
      return "handshake";
    case Epoch::Application:
      return "application";
  }
  return "";
}

// Empty for types that no handshake has.
std::string_view to_string(HandshakeType type) {
  switch (type) {
    case HandshakeType::ClientHello:
      return "ClientHello";
    case HandshakeType::ServerHello:
      return "ServerHello";
    case HandshakeType::NewSessionTicket:
      return "NewSessionTicket";
    case HandshakeType::EndOfEarlyData:
      return "EndOfEarlyData";
    case HandshakeType::EncryptedExtensions:
      return "EncryptedExtensions";
    case HandshakeType::Certificate:
      return "Certificate";
    case HandshakeType::ServerKeyExchange:
      return "ServerKeyExchange";
    case HandshakeType::CertificateRequest:
      return "CertificateRequest";
    case HandshakeType::ServerHelloDone:
      return "ServerHelloDone";
    case HandshakeType::CertificateVerify:
      return "CertificateVerify";
    case HandshakeType::ClientKeyExchange:
      return "ClientKeyExchange";
    case HandshakeType::Finished:
      return "Finished";
    case HandshakeType::CertificateStatus:
      return "CertificateStatus";
    case HandshakeType::KeyUpdate:
      return "KeyUpdate";
    case HandshakeType::CompressedCertificate:
      return "CompressedCertificate";
  }
  return "";
}

std::string_view to_string(PartKind kind) {
  switch (kind) {
    case PartKind::Header:
      return "header";
    case PartKind::Fields:
      return "fields";
    case PartKind::Random:
      return "random";
    case PartKind::SessionId:
      return "session ID";
    case PartKind::CipherSuites:
      return "cipher suites";
    case PartKind::Extension:
      return "extension";
    case PartKind::Certificate:
      return "certificate";
    case PartKind::CertificateExtensions:
      return "certificate extensions";
    case PartKind::CompressedCertificate:
      return "compressed certificate";
    case PartKind::Signature:
      return "signature";
    case PartKind::VerifyData:
      return "verify data";
    case PartKind::Ticket:
      return "ticket";
    case PartKind::Body:
      return "body";
  }
  return "";
}

}  // namespace doxlab::dissect
