#include <stdexcept>

#include "dns/message.hpp"
#include "experiment/rig.hpp"

namespace doxlab::experiment {

Bytes compose_query(const Setup& setup, Transport t) {
  const auto type = dns::parse_type(setup.qtype);
  if (!type) throw std::runtime_error(type.error().message);
  dns::QueryOptions options;
  if (has_tls(t)) options.pad_to_multiple = setup.pad_query_to;
  auto query = dns::compose_query(setup.qname, *type, options);
  if (!query) throw std::runtime_error(query.error().message);
  return std::move(*query);
}

client::LookupOptions lookup_options(const Setup& setup, const std::string& roots_pem) {
  client::LookupOptions out;
  out.session.tls = std::make_shared<const tls::ClientContext>(
      tls::ClientOptions{.groups = setup.client_groups,
                         .roots_pem = roots_pem,
                         .verify = setup.verify,
                         .early_data = setup.start == Start::EarlyData,
                         .certificate_compression = setup.client_compression,
                         .key_log = setup.key_log});
  out.session.server_name = setup.elsewhere ? setup.elsewhere->name : setup.chain.dns_names.front();
  if (setup.subject) out.session.doh_path = setup.subject->doh_path;
  if (setup.elsewhere) out.session.doh_path = setup.elsewhere->doh_path;
  out.session.method = setup.method;
  out.session.quic = setup.client_quic;
  out.session.do53_retransmission = setup.do53_retransmission;
  out.socket.fast_open = setup.fast_open;
  out.timeout = setup.timeout;
  out.linger = 4 * setup.link.one_way_delay + 50ms;
  return out;
}

}  // namespace doxlab::experiment
