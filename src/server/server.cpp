#include "server/server.hpp"

#include <map>

#include "io/unix_clock.hpp"

namespace doxlab::server {

struct Server::State {
  State(asio::io_context& io, ServerOptions given)
      : context(io), options(std::move(given)),
        resolver(options.zone ? options.zone : resolver::Zone::built_in()) {}

  asio::io_context& context;
  ServerOptions options;
  resolver::Resolver resolver;
  std::map<Transport, std::shared_ptr<const tls::ServerContext>> contexts;
  std::vector<std::shared_ptr<io::Listener>> listeners;
  std::vector<Bound> bound;

  transport::ServerOptions session_options(Transport t) const {
    transport::ServerOptions out;
    if (has_tls(t)) out.tls = contexts.at(t);
    if (is_dnscrypt(t)) {
      out.dnscrypt.keys = options.dnscrypt_keys;
      out.dnscrypt.clock = io::unix_clock_now();
    }
    out.doh_path = options.doh_path;
    out.do53_max_udp_bytes = options.do53_max_udp_bytes;
    out.limits = options.limits;
    out.quic.connection = options.quic;
    out.quic.retry = t == Transport::Doh3 ? options.doh3_retry : options.doq_retry;
    return out;
  }

  Bytes answer(Transport t, const transport::IncomingQuery& query) const {
    // DNSCrypt pads by itself, to the size of the query: EDNS padding on top would only truncate answers.
    return resolver.answer(query.message, {.udp = t == Transport::Do53,
                                           .max_udp_bytes = options.do53_max_udp_bytes,
                                           .encrypted = has_tls(t),
                                           .doq = t == Transport::Doq,
                                           .early_data = query.early_data});
  }
};

Server::Server(asio::io_context& context, ServerOptions options)
    : state_(std::make_unique<State>(context, std::move(options))) {
  for (auto t : state_->options.transports) {
    if (is_dnscrypt(t) && !state_->options.dnscrypt_keys) {
      state_->options.dnscrypt_keys =
          std::make_shared<dnscrypt::ResolverKeys>(kDefaultProviderName, dnscrypt::ProviderKey::generate(),
                                                   dnscrypt::ResolverKeyOptions{}, io::unix_clock_now().seconds);
    }
    if (!has_tls(t)) continue;
    auto tls = state_->options.tls;
    tls.alpn = {std::string(alpn(t))};
    tls.alpn_required = t != Transport::Dot;  // RFC 7858 clients need not send ALPN
    if (state_->options.early_data) tls.max_early_data_bytes = is_quic(t) ? 0xffffffffu : 16384;
    state_->contexts[t] = std::make_shared<const tls::ServerContext>(std::move(tls));
  }
}

Server::~Server() = default;

void Server::listen(const IpAddress& ip, std::uint16_t port_offset) {
  for (auto t : state_->options.transports)
    listen(t, {ip, static_cast<std::uint16_t>(resolver_port(t) + port_offset)});
}

void Server::listen(Transport t, const SocketAddress& address) {
  auto* state = state_.get();
  const auto handler = [state, t](const transport::IncomingQuery& query) { return state->answer(t, query); };
  auto options = std::make_shared<const transport::ServerOptions>(state->session_options(t));
  std::shared_ptr<io::Listener> listener;
  if (is_stream(t)) {
    listener = io::listen_stream(
        state->context, address, state->options.stream,
        [options, t](Timestamp now) { return transport::make_stream_server_session(t, *options, now); }, handler);
  } else {
    listener = io::listen_datagram(state->context, address, transport::make_datagram_server(t, *options), handler);
  }
  state->bound.push_back({t, listener->address()});
  state->listeners.push_back(std::move(listener));
}

void Server::listen_cleartext_doh(const SocketAddress& address) {
  auto* state = state_.get();
  auto session = std::make_shared<transport::ServerOptions>();
  session->doh_path = state->options.doh_path;
  session->limits = state->options.limits;
  auto listener = io::listen_stream(
      state->context, address, state->options.stream,
      [session](Timestamp now) {
        return transport::make_stream_server_session(Transport::Doh, *session, now);
      },
      [state](const transport::IncomingQuery& query) { return state->answer(Transport::Doh, query); });
  state->bound.push_back({Transport::Doh, listener->address()});
  state->listeners.push_back(std::move(listener));
}

const std::vector<Bound>& Server::bound() const { return state_->bound; }

std::shared_ptr<const dnscrypt::ResolverKeys> Server::dnscrypt_keys() const { return state_->options.dnscrypt_keys; }

void Server::accept_early_data(bool accept) {
  for (const auto& [transport, context] : state_->contexts) context->accept_early_data(accept);
}

void Server::close(Duration linger) {
  for (const auto& listener : state_->listeners) listener->close(linger);
}

}  // namespace doxlab::server
