#include "experiment/setup.hpp"

#include <algorithm>

namespace doxlab::experiment {

void set_as_published(Setup& setup) {
  setup.doh3_retry = quic::RetryPolicy::Always;
  setup.doq_retry = quic::RetryPolicy::Off;
  setup.client_quic.datagram_bytes = 1280;
  setup.server_quic.datagram_bytes = 1280;
  setup.chain.chain_bytes = 3900;
  setup.client_groups = tls::kDefaultGroups;
  setup.server_groups = tls::kDefaultGroups;
  setup.method = transport::HttpMethod::Post;
}

server::ServerOptions server_options(const Setup& setup, const tls::Chain& chain) {
  server::ServerOptions out;
  out.transports = setup.transports;
  out.zone = setup.zone;
  out.tls.groups = setup.server_groups;
  out.tls.chain_pem = chain.chain_pem;
  out.tls.key_pem = chain.key_pem;
  out.tls.tickets = setup.tickets;
  out.tls.certificate_compression = setup.server_compression;
  out.quic = setup.server_quic;
  out.doq_retry = setup.doq_retry;
  out.doh3_retry = setup.doh3_retry;
  // Do53 falls back to TCP when an answer is truncated, so a server of one is a server of both.
  const auto serves = [&](Transport t) { return std::ranges::find(out.transports, t) != out.transports.end(); };
  if (serves(Transport::Do53) && !serves(Transport::Do53Tcp)) out.transports.push_back(Transport::Do53Tcp);
  return out;
}

}  // namespace doxlab::experiment
