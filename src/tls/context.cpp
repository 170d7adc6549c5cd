#include "tls/context.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tls/certificates.hpp"
#include "tls/ssl_state.hpp"

namespace doxlab::tls {
namespace internal {

struct ContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, ContextDeleter>;

}  // namespace internal

using internal::ContextPtr;

namespace {

using internal::ContextState;
using internal::SslState;
using internal::throw_openssl;

struct SessionDeleter {
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using SessionPtr = std::unique_ptr<SSL_SESSION, SessionDeleter>;

constexpr unsigned int kQuicTransportParameters = 57;  // RFC 9001 §8.2

ContextPtr new_context(const SSL_METHOD* method, const std::string& groups,
                       const std::vector<CertificateCompression>& compression) {
  ContextPtr context(SSL_CTX_new(method));
  if (!context) throw_openssl("TLS context");
  if (SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1) throw_openssl("TLS 1.3");
  if (SSL_CTX_set1_groups_list(context.get(), groups.c_str()) != 1) throw_openssl("groups \"" + groups + "\"");
  // OpenSSL compresses by default with all it was built with, so an empty list must say no in both directions.
  if (compression.empty()) {
    SSL_CTX_set_options(context.get(),
                        SSL_OP_NO_TX_CERTIFICATE_COMPRESSION | SSL_OP_NO_RX_CERTIFICATE_COMPRESSION);
  } else {
    std::vector<int> algorithms;
    for (const CertificateCompression algorithm : compression) {
      algorithms.push_back(algorithm == CertificateCompression::Zlib ? TLSEXT_comp_cert_zlib : TLSEXT_comp_cert_zstd);
    }
    if (SSL_CTX_set1_cert_comp_preference(context.get(), algorithms.data(), algorithms.size()) != 1) {
      throw_openssl("certificate compression");
    }
  }
  return context;
}

// A list of one protocol or more in wire form: each with its length in front.
std::string alpn_wire_form(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) throw std::runtime_error("ALPN protocol must have 1 to 255 octets");
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

int on_new_session(SSL* ssl, SSL_SESSION* session) {
  // A server may send tickets without end; what nobody takes is not kept.
  constexpr std::size_t kKept = 8;
  const int length = i2d_SSL_SESSION(session, nullptr);
  if (length <= 0) return 0;
  Ticket ticket;
  ticket.session_der.resize(static_cast<std::size_t>(length));
  unsigned char* out = ticket.session_der.data();
  i2d_SSL_SESSION(session, &out);
  ticket.max_early_data_bytes = SSL_SESSION_get_max_early_data(session);
  std::deque<Ticket>& tickets = internal::state_of(ssl).tickets;
  tickets.push_back(std::move(ticket));
  if (tickets.size() > kKept) tickets.pop_front();
  return 0;  // the session itself stays OpenSSL's
}

int on_client_hello(SSL* ssl, int* alert, void*) {
  const unsigned char* data = nullptr;
  std::size_t length = 0;
  SslState& state = internal::state_of(ssl);
  state.lacks_transport_parameters =
      state.for_quic && SSL_client_hello_get0_ext(ssl, kQuicTransportParameters, &data, &length) != 1;
  // OpenSSL asks on_alpn only if the client offered a list.
  if (internal::context_state_of(ssl).alpn_required &&
      SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data, &length) != 1) {
    *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
    return SSL_CLIENT_HELLO_ERROR;
  }
  return SSL_CLIENT_HELLO_SUCCESS;
}

// Called for each ClientHello, with SNI or without. The refusal is here because OpenSSL turns
// missing_extension into handshake_failure as long as it has not settled on TLS 1.3, as in on_client_hello.
int on_server_name(SSL* ssl, int* alert, void*) {
  if (internal::state_of(ssl).lacks_transport_parameters) {
    *alert = SSL_AD_MISSING_EXTENSION;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

int on_alpn(SSL* ssl, const unsigned char** chosen, unsigned char* chosen_length, const unsigned char* offered,
            unsigned int offered_length, void*) {
  const std::string& accepted = internal::context_state_of(ssl).alpn_wire;
  unsigned char* selected = nullptr;
  if (SSL_select_next_proto(&selected, chosen_length, reinterpret_cast<const unsigned char*>(accepted.data()),
                            static_cast<unsigned int>(accepted.size()), offered,
                            offered_length) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = selected;
  return SSL_TLSEXT_ERR_OK;
}

constexpr unsigned int kHostFlags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

// A final dot belongs to the DNS, not to certificates and SNI (RFC 6066 §3).
std::string certificate_name(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return name;
}

void expect_name(SSL* ssl, const std::string& server_name) {
  const auto address = IpAddress::parse(server_name);
  if (address) {
    const BytesView octets = address->octets();
    if (X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), octets.data(), octets.size()) != 1) {
      throw_openssl("server address");
    }
    return;
  }
  const std::string name = certificate_name(server_name);
  SSL_set_hostflags(ssl, kHostFlags);
  if (SSL_set1_host(ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(ssl, name.c_str()) != 1) {
    throw_openssl("server name \"" + name + "\"");
  }
}

// Resumption skips the certificate, so the ticket must stem from a session that verified one for this
// same name. (OpenSSL keeps the verification result with the session but does not look at it again.)
int on_early_data(SSL* ssl, void*) { return internal::context_state_of(ssl).early_data_accepted ? 1 : 0; }

// The SSL has the session set.
bool ticket_is_trusted(SSL_SESSION* session, SSL* ssl, const std::string& server_name) {
  X509* leaf = SSL_SESSION_get0_peer(session);
  if (leaf == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return false;
  if (const auto address = IpAddress::parse(server_name)) {
    const BytesView octets = address->octets();
    return X509_check_ip(leaf, octets.data(), octets.size(), 0) == 1;
  }
  const std::string name = certificate_name(server_name);
  return X509_check_host(leaf, name.data(), name.size(), kHostFlags, nullptr) == 1;
}

// OpenSSL fails the handshake where early data disagrees with the name or protocol of its ticket.
bool ticket_fits_name(const SSL_SESSION* session, const std::string& server_name) {
  const char* issued_for = SSL_SESSION_get0_hostname(session);  // null unless the server confirmed the SNI
  return issued_for == nullptr || certificate_name(server_name) == issued_for;
}

bool ticket_fits_alpn(const SSL_SESSION* session, const std::string& alpn) {
  const unsigned char* selected = nullptr;
  std::size_t length = 0;
  SSL_SESSION_get0_alpn_selected(session, &selected, &length);
  return alpn == as_text({selected, length});
}

}  // namespace

struct ClientContext::State {
  ClientOptions options;
  ContextPtr context;
};

ClientContext::ClientContext(ClientOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  state.context = new_context(TLS_client_method(), state.options.groups, state.options.certificate_compression);
  SSL_CTX* context = state.context.get();
  internal::attach_context_state(context).key_log = state.options.key_log;
  internal::observe(context, true);
  if (state.options.verify) {
    internal::load_roots(context, state.options.roots_pem);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  } else {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
  SSL_CTX_sess_set_new_cb(context, on_new_session);
}

ClientContext::~ClientContext() = default;

SslPtr ClientContext::new_ssl(const std::string& server_name, const std::string& alpn, const Ticket* ticket,
                               const KeyLog& key_log) const {
  SslPtr ssl(SSL_new(state_->context.get()));
  if (!ssl) throw_openssl("TLS session");
  SslState& state = internal::attach_state(ssl.get());
  state.expected_name = server_name;
  state.key_log = key_log;
  SSL_set_connect_state(ssl.get());
  expect_name(ssl.get(), server_name);
  if (!alpn.empty()) {
    const std::string wire = alpn_wire_form({alpn});
    // This call returns 0 for success.
    if (SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned int>(wire.size())) != 0) {
      throw_openssl("ALPN protocol");
    }
  }
  if (ticket != nullptr) {
    const unsigned char* der = ticket->session_der.data();
    const SessionPtr session(
        d2i_SSL_SESSION(nullptr, &der, static_cast<long>(ticket->session_der.size())));
    internal::take_queued_error();  // a damaged ticket only costs a full handshake
    if (session && ticket_fits_name(session.get(), server_name)) {
      if (SSL_set_session(ssl.get(), session.get()) != 1) throw_openssl("session to resume");
      if (state_->options.verify && !ticket_is_trusted(session.get(), ssl.get(), server_name)) {
        SSL_set_session(ssl.get(), nullptr);
      } else {
        state.early_data_ready = state_->options.early_data && ticket_fits_alpn(session.get(), alpn) &&
                                 SSL_SESSION_get_max_early_data(session.get()) > 0;
      }
    }
  }
  return ssl;
}

const ClientOptions& ClientContext::options() const { return state_->options; }

struct ServerContext::State {
  ServerOptions options;
  ContextPtr context;
  ContextState* shared = nullptr;  // owned by `context`
};

ServerContext::ServerContext(ServerOptions options) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.options = std::move(options);
  const ServerOptions& wanted = state.options;
  state.context = new_context(TLS_server_method(), wanted.groups, wanted.certificate_compression);
  SSL_CTX* context = state.context.get();
  ContextState& shared = internal::attach_context_state(context);
  state.shared = &shared;
  shared.key_log = wanted.key_log;
  shared.alpn_wire = alpn_wire_form(wanted.alpn);
  shared.alpn_required = wanted.alpn_required && !wanted.alpn.empty();
  internal::observe(context, static_cast<bool>(wanted.key_log));

  // The chain is exactly what chain_pem holds: without this OpenSSL would look for missing certificates.
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  internal::load_identity(context, wanted.chain_pem, wanted.key_pem);
  // Compressing once, here, keeps it out of the handshake's time. Nothing is sent compressed if that is
  // larger, so the call's result says nothing that matters.
  if (!wanted.certificate_compression.empty()) SSL_CTX_compress_certs(context, 0);

  SSL_CTX_set_allow_early_data_cb(context, on_early_data, nullptr);
  SSL_CTX_set_client_hello_cb(context, on_client_hello, nullptr);
  SSL_CTX_set_tlsext_servername_callback(context, on_server_name);
  if (!wanted.alpn.empty()) SSL_CTX_set_alpn_select_cb(context, on_alpn, nullptr);

  static constexpr std::string_view kSessionIdContext = "doxlab";
  SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kSessionIdContext.data()),
                                 static_cast<unsigned int>(kSessionIdContext.size()));
  SSL_CTX_set_num_tickets(context, wanted.tickets);
  SSL_CTX_set_max_early_data(context, wanted.max_early_data_bytes);
  // Also how much rejected early data is skipped (RFC 8446 §4.2.10), so never 0: a client may hold a ticket
  // from before a restart.
  SSL_CTX_set_recv_max_early_data(context, std::max<std::uint32_t>(wanted.max_early_data_bytes, 16384));
  if (wanted.single_use_tickets) {
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  } else {
    // OpenSSL's replay protection needs stateful tickets and takes each once. A measurement resumes many times
    // from one ticket, as clients of a resolver farm do, and DNS queries may be repeated; so it is off.
    SSL_CTX_set_options(context, SSL_OP_NO_ANTI_REPLAY);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  }
}

ServerContext::~ServerContext() = default;

SslPtr ServerContext::new_ssl(bool for_quic) const {
  SslPtr ssl(SSL_new(state_->context.get()));
  if (!ssl) throw_openssl("TLS session");
  internal::attach_state(ssl.get()).for_quic = for_quic;
  SSL_set_accept_state(ssl.get());
  return ssl;
}

void ServerContext::accept_early_data(bool accept) const {
  state_->shared->early_data_accepted = accept;
}

const ServerOptions& ServerContext::options() const { return state_->options; }

}  // namespace doxlab::tls
