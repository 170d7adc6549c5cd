#pragma once
/// How much of a DNSCrypt lookup was the fetch of the certificate: plain DNS on the port of the queries
/// (draft-denis-dprive-dnscrypt-11 §5.5), so it is recognised by its question.

#include <span>

#include "capture/packet.hpp"
#include "trace/critical_path.hpp"

namespace doxlab::trace {

/// Packets that carry a question for the certificate, or its answer, with all their IP bytes. Over TCP these
/// are the segments that such a message begins in; the handshake and pure acknowledgements do not count.
struct CertificateExchange {
  Volume to_server, to_client;
};

/// `provider_name` in wire form. As for count_volumes(), lost packets count and duplicates of the link do
/// not.
CertificateExchange count_certificate_exchange(std::span<const capture::RecordedPacket> packets,
                                               BytesView provider_name);

}  // namespace doxlab::trace
