#pragma once
/// Everything that a run is made of: the link, the resolver, the client, the question. One struct with
/// documented defaults; every experiment starts from it and every option of the command line ends in it.

#include <string>
#include <vector>

#include "link/path.hpp"
#include "quic/options.hpp"
#include "resolver/resolver.hpp"
#include "server/server.hpp"
#include "tls/forge.hpp"
#include "tls/options.hpp"
#include "transport/factory.hpp"
#include "transport/transport.hpp"

namespace doxlab::experiment {

struct Setup {
  link::Impairments link;
  bool ipv6 = false;

  std::vector<Transport> transports{kAllTransports.begin(), kAllTransports.end()};
  std::string qname = "example.com";
  std::string qtype = "A";
  Duration timeout = 15s;                       ///< start of a lookup to its answer

  // The client.
  std::string client_groups = tls::kDefaultGroups;
  std::vector<tls::CertificateCompression> client_compression;
  bool verify = true;
  transport::HttpMethod method = transport::HttpMethod::Post;
  std::size_t pad_query_to = 128;               ///< EDNS padding on transports with TLS (RFC 8467 §4.1); 0: none
  quic::Options client_quic;

  // The resolver.
  std::shared_ptr<const resolver::Zone> zone;   ///< null: the built-in zone
  std::string server_groups = tls::kDefaultGroups;
  tls::ChainOptions chain;
  std::vector<tls::CertificateCompression> server_compression;
  std::size_t tickets = 1;
  quic::RetryPolicy doq_retry = quic::RetryPolicy::Off;
  quic::RetryPolicy doh3_retry = quic::RetryPolicy::Off;
  quic::Options server_quic;

  /// DNSCrypt: what the resolver offers, one certificate each, and what the client accepts, in order.
  std::vector<dnscrypt::EsVersion> dnscrypt_constructions = dnscrypt::ResolverKeyOptions{}.es_versions;
  std::string dnscrypt_provider = server::kDefaultProviderName;
};

/// As the published measurement's server and client were set: Retry on DoH3 and not on DoQ, QUIC datagrams
/// of 1280 bytes, a chain of about 3.9 KB, X25519MLKEM768 first, POST.
void set_as_published(Setup& setup);

/// The resolver that a setup asks for, with a forged chain and new DNSCrypt keys. Errors: std::invalid_argument
/// (a provider name that is none).
server::ServerOptions server_options(const Setup& setup, const tls::Chain& chain);

}  // namespace doxlab::experiment
