// What reaches a DNSCrypt server, over UDP and TCP. The first octet chooses how the rest becomes a packet: as
// it is, behind the magic of a certificate, sealed as it is, or padded and sealed. Sealed input gets past the
// encryption to what lies behind.
#include <algorithm>
#include <cstdlib>

#include "dnscrypt/padding.hpp"
#include "transport/dnscrypt/dnscrypt.hpp"
#include "transport/framing/framing.hpp"

using namespace doxlab;
using namespace doxlab::transport;

namespace {

constexpr Timestamp kNow{1000s};
constexpr dnscrypt::UnixSeconds kUnixNow = 1'800'000'000;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Ends {
  DnscryptServerOptions options;
  dnscrypt::Certificate certificate;
  dnscrypt::KeyPair client = dnscrypt::KeyPair::generate();
  std::optional<dnscrypt::SharedKey> key;

  Ends() {
    options.keys = std::make_shared<dnscrypt::ResolverKeys>("2.dnscrypt-cert.example.com",
                                                            dnscrypt::ProviderKey::generate(),
                                                            dnscrypt::ResolverKeyOptions{}, kUnixNow);
    options.clock = {kUnixNow, kNow};
    certificate = options.keys->current()->accepted.front()->certificate;
    key = dnscrypt::SharedKey::derive(certificate.es_version, certificate.resolver_key, client);
  }

  Bytes packet(std::uint8_t how, BytesView input) const {
    if (how == 0) return to_bytes(input);
    if (how == 1) {
      Bytes out = to_bytes(certificate.client_magic);
      out.insert(out.end(), input.begin(), input.end());
      return out;
    }
    const auto plaintext =
        how == 2 ? to_bytes(input) : dnscrypt::pad(input, dnscrypt::udp_query_size(input.size(), 256));
    return dnscrypt::seal_query(certificate.client_magic, client.public_key, *key, dnscrypt::HalfNonce{},
                                plaintext);
  }
};

void send_datagram(const Ends& ends, BytesView packet, bool sealed) {
  static const auto kServer = make_dnscrypt_server(ends.options);
  kServer->receive({}, {}, packet, kNow);
  while (auto query = kServer->poll_query()) kServer->answer(query->handle, query->message, kNow);
  while (auto output = kServer->poll_output(kNow)) {
    require(output->payload.size() <= (sealed ? packet.size() : 1232));
    require(!sealed || dnscrypt::open_response(output->payload, *ends.key).has_value());
  }
}

void send_stream(const Ends& ends, BytesView stream) {
  const auto server = make_dnscrypt_tcp_server_session(ends.options, kNow);
  // In two runs, cut where the input says.
  const auto cut = stream.empty() ? 0 : std::min<std::size_t>(stream.back(), stream.size());
  server->receive(stream.first(cut), kNow);
  server->receive(stream.subspan(cut), kNow);
  while (auto query = server->poll_query()) server->answer(query->handle, query->message, kNow);
  while (server->poll_output(kNow)) {
  }
  server->receive_end(kNow);
  require(server->is_closed());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 5000) return 0;
  static const Ends kEnds;
  const std::uint8_t how = data[0] & 3;
  const auto packet = kEnds.packet(how, {data + 1, size - 1});
  if ((data[0] & 4) == 0) {
    send_datagram(kEnds, packet, how >= 2);
  } else {
    send_stream(kEnds, (data[0] & 8) == 0 ? frame(packet) : packet);
  }
  return 0;
}
