#pragma once
/// Clients and servers of DNSCrypt in one process and at one time, and hand-made packets, for the tests of
/// transport/dnscrypt.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "dnscrypt/certificate_message.hpp"
#include "dnscrypt/padding.hpp"
#include "transport/dnscrypt/dnscrypt.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport::dnscrypt_fixture {

using dnscrypt::EsVersion;
using ::testing::HasSubstr;

inline constexpr dnscrypt::UnixSeconds kUnixNow = 1'800'000'000;
inline constexpr Timestamp kStart{1000s};
inline constexpr std::string_view kProvider = "2.dnscrypt-cert.example.com";
inline const SocketAddress kServer{IpAddress::parse("192.0.2.1").value(), 443};
inline const SocketAddress kPeer{IpAddress::parse("192.0.2.2").value(), 40'000};

inline Bytes make_query(std::string_view name = "www.example.com", std::uint16_t id = 0x1234,
                        bool edns = true) {
  return dns::compose_query(name, dns::kTypeA, {.id = id, .edns = edns}).value();
}

/// `query` answered with TXT-like filler of `octets` in one record.
inline Bytes make_answer(BytesView query, std::size_t octets) {
  const auto question = dns::read_question(query).value();
  ByteWriter out;
  out.append(query.first(2));
  out.u16(0x8180);
  out.u16(1);
  out.u16(1);
  out.u32(0);
  out.append(query.subspan(12, question.end - 12));
  out.u16(0xc00c);
  out.u16(dns::kTypeTxt);
  out.u16(1);
  out.u32(60);
  out.u16(static_cast<std::uint16_t>(octets));
  out.append(Bytes(octets));
  return out.take();
}

class DnscryptTest : public ::testing::Test {
 protected:
  DnscryptTest() {
    client_options.provider_name = kProvider;
    client_options.provider_key = keys->provider_key();
    client_options.clock = {kUnixNow, kStart};
    server_options.keys = keys;
    server_options.clock = {kUnixNow, kStart};
  }

  std::unique_ptr<ClientSession> make_client(bool tcp) const {
    return make_dnscrypt_client(client_options, tcp, kStart).value();
  }
  /// The wire form of the certificate that the client would choose.
  Bytes certificate(EsVersion version = EsVersion::X25519XChaCha20Poly1305) const {
    return dnscrypt::compose_certificate(dnscrypt::choose_certificate(keys->current()->offered,
                                                                      keys->provider_key(), kUnixNow,
                                                                      std::span(&version, 1))
                                             .value());
  }

  std::shared_ptr<dnscrypt::ResolverKeys> keys = std::make_shared<dnscrypt::ResolverKeys>(
      kProvider, dnscrypt::ProviderKey::generate(), dnscrypt::ResolverKeyOptions{}, kUnixNow);
  DnscryptClientOptions client_options;
  DnscryptServerOptions server_options;
};

inline std::vector<Event> events_of(ClientSession& session) {
  std::vector<Event> out;
  while (auto event = session.poll_event()) out.push_back(std::move(*event));
  return out;
}

/// The first event of this kind.
template <class T>
std::optional<T> find_event(const std::vector<Event>& events) {
  for (const auto& event : events) {
    if (const auto* found = std::get_if<T>(&event)) return *found;
  }
  return std::nullopt;
}

/// Hand-made clients: what a session would not send.
struct RawClient {
  dnscrypt::Certificate certificate;
  dnscrypt::KeyPair keys = dnscrypt::KeyPair::generate();
  dnscrypt::SharedKey key;

  explicit RawClient(BytesView wire)
      : certificate(dnscrypt::parse_certificate(wire).value()),
        key(dnscrypt::SharedKey::derive(certificate.es_version, certificate.resolver_key, keys).value()) {}

  Bytes seal_padded(BytesView padded) const {
    return dnscrypt::seal_query(certificate.client_magic, keys.public_key, key, dnscrypt::random_octets<12>(),
                                padded);
  }
  Bytes seal(BytesView message, std::size_t padded = 256) const {
    return seal_padded(dnscrypt::pad(message, std::max(padded, message.size() + 1)));
  }
};

class DnscryptUdpTest : public DnscryptTest {
 protected:
  void start_server() { server = make_dnscrypt_server(server_options); }
  std::vector<Bytes> outputs(ClientSession& session, Timestamp now = kStart) {
    std::vector<Bytes> out;
    while (auto output = session.poll_output(now)) out.push_back(std::move(*output));
    return out;
  }
  /// What the server sends back to this datagram; queries are answered with `answer_octets` of filler.
  std::vector<Bytes> exchange(BytesView datagram, std::size_t answer_octets = 16, Timestamp now = kStart) {
    server->receive(kServer, kPeer, datagram, now);
    while (auto query = server->poll_query()) {
      handed_out.push_back(query->message);
      server->answer(query->handle, make_answer(query->message, answer_octets), now);
    }
    std::vector<Bytes> out;
    while (auto output = server->poll_output(now)) {
      EXPECT_EQ(output->peer, kPeer);
      out.push_back(std::move(output->payload));
    }
    return out;
  }
  /// Lets both talk until neither has anything to say; returns datagrams in each direction.
  std::pair<std::size_t, std::size_t> talk(ClientSession& session, std::size_t answer_octets = 16,
                                           Timestamp now = kStart) {
    std::size_t there = 0, back = 0;
    for (auto datagrams = outputs(session, now); !datagrams.empty(); datagrams = outputs(session, now)) {
      for (const auto& datagram : datagrams) {
        ++there;
        for (const auto& reply : exchange(datagram, answer_octets, now)) {
          ++back;
          session.receive(reply, now);
        }
      }
    }
    return {there, back};
  }

  std::unique_ptr<DatagramServer> server;
  std::vector<Bytes> handed_out;
};

}  // namespace doxlab::transport::dnscrypt_fixture
