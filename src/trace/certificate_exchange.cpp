#include "trace/certificate_exchange.hpp"

#include <algorithm>

#include "dns/scan.hpp"

namespace doxlab::trace {
namespace {

constexpr std::size_t kTcpLengthOctets = 2;

bool is_about_certificate(const capture::RecordedPacket& packet, BytesView provider_name) {
  const auto headers = capture::parse_headers(packet.bytes);
  if (!headers) return false;
  auto message = headers->payload;
  if (headers->protocol == capture::Protocol::Tcp)
    message = message.subspan(std::min(kTcpLengthOctets, message.size()));
  // What is encrypted begins with random octets, which may look like a header but not like this question.
  const auto question = dns::read_question(message);
  return question && question->type == dns::kTypeTxt && std::ranges::equal(question->name, provider_name);
}

}  // namespace

CertificateExchange count_certificate_exchange(std::span<const capture::RecordedPacket> packets,
                                               BytesView provider_name) {
  CertificateExchange out;
  for (const auto& packet : packets) {
    if (packet.duplicate || !is_about_certificate(packet, provider_name)) continue;
    auto& volume = packet.place.direction == link::Direction::ToServer ? out.to_server : out.to_client;
    ++volume.packets;
    volume.ip_bytes += packet.bytes.size();
  }
  return out;
}

}  // namespace doxlab::trace
