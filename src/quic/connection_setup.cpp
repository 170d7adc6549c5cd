// How a connection comes to be: options checked, settings and transport parameters filled in, TLS attached.

#include <format>
#include <stdexcept>

#include "quic/connection_state.hpp"

namespace doxlab::quic::internal {
namespace {

constexpr std::uint64_t kMaxVarint = (std::uint64_t{1} << 62) - 1;
constexpr std::size_t kMaxClientToken =
    512;  // a longer one would leave no room in the Initial; it is not sent
constexpr std::uint64_t kMaxStreams = std::uint64_t{1} << 60;  // RFC 9000 §4.6

std::uint32_t version_of(const Options& options) {
  return options.version == 2 ? NGTCP2_PROTO_VER_V2 : NGTCP2_PROTO_VER_V1;
}

ngtcp2_cc_algo algorithm_of(CongestionControl congestion) {
  switch (congestion) {
    case CongestionControl::Reno:
      return NGTCP2_CC_ALGO_RENO;
    case CongestionControl::Bbr:
      return NGTCP2_CC_ALGO_BBR;
    case CongestionControl::Cubic:
      break;
  }
  return NGTCP2_CC_ALGO_CUBIC;
}

ngtcp2_conn* conn_of(ngtcp2_crypto_conn_ref* ref) {
  return *static_cast<ngtcp2_conn**>(ref->user_data);
}

}  // namespace

Result<void> check_options(const Options& options) {
  if (options.version != 1 && options.version != 2) {
    return fail(std::format("QUIC version {} is not 1 or 2", options.version));
  }
  if (options.initial_rtt <= Duration::zero()) return fail("QUIC initial RTT must be above zero");
  if (options.datagram_bytes < NGTCP2_MAX_UDP_PAYLOAD_SIZE ||
      options.datagram_bytes > NGTCP2_MAX_TX_UDP_PAYLOAD_SIZE) {
    return fail(std::format("QUIC datagrams of {} bytes: must be {} to {}", options.datagram_bytes,
                            NGTCP2_MAX_UDP_PAYLOAD_SIZE, NGTCP2_MAX_TX_UDP_PAYLOAD_SIZE));
  }
  if (options.max_idle_timeout < Duration::zero() || options.handshake_timeout <= Duration::zero()) {
    return fail("QUIC timeouts must not be negative");
  }
  if (options.stream_window_bytes > kMaxVarint || options.connection_window_bytes > kMaxVarint ||
      options.max_streams_bidi > kMaxStreams || options.max_streams_uni > kMaxStreams) {
    return fail("QUIC limits must fit RFC 9000's integers");
  }
  return {};
}

ConnectionState::ConnectionState(const Options& options, SocketAddress remote)
    : options_(options), remote_(remote), pacer_(options.datagram_bytes) {}

ConnectionState::~ConnectionState() {
  // OpenSSL may call back while it is freed, and keeps a pointer to the transport parameters in crypto_.
  if (ssl_) SSL_set_app_data(ssl_.get(), nullptr);
  ssl_.reset();
  ngtcp2_conn_del(conn_);
  ngtcp2_crypto_ossl_ctx_del(crypto_);
}

ngtcp2_settings ConnectionState::make_settings(ngtcp2_tstamp now) const {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = now;
  settings.initial_rtt = static_cast<ngtcp2_duration>(options_.initial_rtt.count());
  settings.cc_algo = algorithm_of(options_.congestion);
  settings.handshake_timeout = static_cast<ngtcp2_duration>(options_.handshake_timeout.count());
  settings.max_tx_udp_payload_size = options_.datagram_bytes;
  // Without this every datagram would be cut to 1200 bytes until path MTU discovery, which is off.
  settings.no_tx_udp_payload_size_shaping = 1;
  settings.no_pmtud = 1;
  if (qlog_) {
    settings.qlog_write = [](void* user_data, std::uint32_t, const void* data, std::size_t length) {
      const auto* self = static_cast<ConnectionState*>(user_data);
      if (length > 0) self->qlog_({static_cast<const char*>(data), length});
    };
  }
  return settings;
}

ngtcp2_transport_params ConnectionState::make_transport_params() const {
  ngtcp2_transport_params params;
  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_bidi_local = options_.stream_window_bytes;
  params.initial_max_stream_data_bidi_remote = options_.stream_window_bytes;
  params.initial_max_stream_data_uni = options_.stream_window_bytes;
  params.initial_max_data = options_.connection_window_bytes;
  params.initial_max_streams_bidi = options_.max_streams_bidi;
  params.initial_max_streams_uni = options_.max_streams_uni;
  params.max_idle_timeout = static_cast<ngtcp2_duration>(options_.max_idle_timeout.count());
  return params;
}

Result<void> ConnectionState::attach_tls(tls::SslPtr ssl) {
  ssl_ = std::move(ssl);
  if (ngtcp2_crypto_ossl_ctx_new(&crypto_, ssl_.get()) != 0) return fail("no memory for QUIC's TLS");
  const int configured = is_server_ ? ngtcp2_crypto_ossl_configure_server_session(ssl_.get())
                                    : ngtcp2_crypto_ossl_configure_client_session(ssl_.get());
  if (configured != 0) return fail("OpenSSL refuses QUIC: " + tls::last_error(ssl_.get()));
  conn_ref_ = {.get_conn = conn_of, .user_data = &conn_};
  SSL_set_app_data(ssl_.get(), &conn_ref_);
  ngtcp2_conn_set_tls_native_handle(conn_, crypto_);
  return {};
}

// 0-RTT needs a ticket that allows it in QUIC's way (RFC 9001 §4.6.1) and the server's remembered limits.
void ConnectionState::prepare_early_data(const tls::ClientContext& context,
                                         const ClientParameters& parameters) {
  if (!context.options().early_data || parameters.ticket == nullptr ||
      parameters.ticket->max_early_data_bytes != 0xffffffff ||
      parameters.remembered_transport_parameters.empty() || !tls::early_data_ready(ssl_.get())) {
    return;
  }
  const BytesView remembered = parameters.remembered_transport_parameters;
  if (ngtcp2_conn_decode_and_set_0rtt_transport_params(conn_, remembered.data(), remembered.size()) != 0)
    return;
  early_data_offered_ = SSL_set_quic_tls_early_data_enabled(ssl_.get(), 1) == 1;
}

Result<std::unique_ptr<ConnectionState>> ConnectionState::make_client(const tls::ClientContext& context,
                                                                      const Options& options,
                                                                      const ClientParameters& parameters,
                                                                      Timestamp now) {
  if (const auto checked = check_options(options); !checked) return fail(checked.error().message);
  try {
    initialize_library();
    std::unique_ptr<ConnectionState> self(new ConnectionState(options, parameters.remote));
    const ngtcp2_cid destination = random_connection_id();
    self->source_id_ = random_connection_id();
    if (options.qlog) self->qlog_ = options.qlog({to_bytes(destination)}, false);
    const ngtcp2_callbacks callbacks = make_callbacks(false);
    ngtcp2_settings settings = self->make_settings(self->tick(now));
    if (parameters.token.size() <= kMaxClientToken) {
      settings.token = parameters.token.data();
      settings.tokenlen = parameters.token.size();
    }
    const ngtcp2_transport_params params = self->make_transport_params();
    const PathValue path(parameters.local, parameters.remote);
    if (const int rv =
            ngtcp2_conn_client_new(&self->conn_, &destination, &self->source_id_, path.get(),
                                   version_of(options), &callbacks, &settings, &params, nullptr, self.get());
        rv != 0) {
      return fail(std::string("QUIC connection: ") + ngtcp2_strerror(rv));
    }
    if (const auto attached =
            self->attach_tls(context.new_ssl(parameters.server_name, parameters.alpn, parameters.ticket,
                                             parameters.key_log));
        !attached) {
      return fail(attached.error().message);
    }
    self->prepare_early_data(context, parameters);
    return self;
  } catch (const std::runtime_error& error) {
    return fail(error.what());
  }
}

Result<std::unique_ptr<ConnectionState>> ConnectionState::make_server(const tls::ServerContext& context,
                                                                      const Options& options,
                                                                      const ServerParameters& parameters,
                                                                      Timestamp now) {
  try {
    std::unique_ptr<ConnectionState> self(new ConnectionState(options, parameters.remote));
    self->is_server_ = true;
    self->hooks_ = parameters.hooks;
    self->key_ = parameters.key;
    self->source_id_ = random_connection_id();
    if (options.qlog) self->qlog_ = options.qlog({to_bytes(parameters.original_destination)}, true);
    ngtcp2_callbacks callbacks = make_callbacks(true);
    if (options.withhold_initial_retransmission) callbacks.encrypt = WithheldCrypto::encrypt;
    ngtcp2_settings settings = self->make_settings(self->tick(now));
    settings.token = parameters.token.data();
    settings.tokenlen = parameters.token.size();
    settings.token_type = parameters.token_type;
    ngtcp2_transport_params params = self->make_transport_params();
    params.original_dcid = parameters.original_destination;
    params.original_dcid_present = 1;
    if (parameters.retry_source) {
      params.retry_scid = *parameters.retry_source;
      params.retry_scid_present = 1;
    }
    ngtcp2_stateless_reset_token reset_token;
    if (self->hooks_->make_reset_token(self->source_id_, reset_token)) {
      std::copy_n(reset_token.data, NGTCP2_STATELESS_RESET_TOKENLEN, params.stateless_reset_token);
      params.stateless_reset_token_present = 1;
    }
    const PathValue path(parameters.local, parameters.remote);
    if (const int rv =
            ngtcp2_conn_server_new(&self->conn_, &parameters.client_id, &self->source_id_, path.get(),
                                   parameters.version, &callbacks, &settings, &params, nullptr, self.get());
        rv != 0) {
      return fail(std::string("QUIC connection: ") + ngtcp2_strerror(rv));
    }
    if (const auto attached = self->attach_tls(context.new_ssl(true)); !attached) {
      return fail(attached.error().message);
    }
    if (context.options().max_early_data_bytes != 0) SSL_set_quic_tls_early_data_enabled(self->ssl_.get(), 1);
    return self;
  } catch (const std::runtime_error& error) {
    return fail(error.what());
  }
}

}  // namespace doxlab::quic::internal
