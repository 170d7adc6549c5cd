#pragma once
/// What a connection is made of, shared by the files that implement it and by the endpoint: ngtcp2's
/// connection, its SSL, the streams' send buffers, the events not yet taken. Private to the room.

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "quic/connection.hpp"
#include "quic/ngtcp2_values.hpp"
#include "quic/pacer.hpp"
#include "quic/send_buffer.hpp"
#include "quic/withheld_crypto.hpp"

namespace doxlab::quic::internal {

/// What a server connection asks of its endpoint.
class ServerHooks {
 public:
  virtual ~ServerHooks() = default;
  virtual void id_issued(std::uint64_t key, const ngtcp2_cid& id) = 0;
  virtual void id_retired(std::uint64_t key, const ngtcp2_cid& id) = 0;
  virtual bool make_reset_token(const ngtcp2_cid& id, ngtcp2_stateless_reset_token& out) = 0;
  /// A token for NEW_TOKEN that proves `remote` later on; empty: send none.
  virtual Bytes make_address_token(const SocketAddress& remote, ngtcp2_tstamp now) = 0;
};

struct ServerParameters {
  std::uint32_t version = 0;
  ngtcp2_cid client_id{};                  ///< Source Connection ID of the Initial
  ngtcp2_cid original_destination{};       ///< of the client's very first Initial
  std::optional<ngtcp2_cid> retry_source;  ///< set if the client answers a Retry
  ngtcp2_token_type token_type = NGTCP2_TOKEN_TYPE_UNKNOWN;
  BytesView token;  ///< validated; empty: address not proven
  SocketAddress local, remote;
  ServerHooks* hooks = nullptr;  ///< outlives the connection
  std::uint64_t key = 0;         ///< given back to the hooks
};

struct Outgoing {
  SocketAddress remote;
  Bytes payload;
};

/// Errors: an option outside of what ngtcp2 takes (it would assert).
Result<void> check_options(const Options& options);

class ConnectionState {
 public:
  static Result<std::unique_ptr<ConnectionState>> make_client(const tls::ClientContext& context,
                                                              const Options& options,
                                                              const ClientParameters& parameters,
                                                              Timestamp now);
  /// The options have been checked before.
  static Result<std::unique_ptr<ConnectionState>> make_server(const tls::ServerContext& context,
                                                              const Options& options,
                                                              const ServerParameters& parameters,
                                                              Timestamp now);
  ~ConnectionState();
  ConnectionState(const ConnectionState&) = delete;
  ConnectionState& operator=(const ConnectionState&) = delete;

  /// Returns ngtcp2's verdict: 0, or NGTCP2_ERR_RETRY and NGTCP2_ERR_DROP_CONN, which a server's endpoint
  /// acts on; every other error has already ended the connection.
  int receive(const SocketAddress& local, const SocketAddress& remote, BytesView datagram, Timestamp now);
  void on_timeout(Timestamp now);
  std::optional<Timestamp> next_timeout() const;
  std::optional<Outgoing> poll(Timestamp now);
  std::optional<Event> poll_event();
  bool has_events() const { return !events_.empty(); }

  std::optional<StreamId> open(bool bidirectional);
  void write(StreamId id, BytesView data, bool fin);
  void reset(StreamId id, std::uint64_t code);
  void stop_sending(StreamId id, std::uint64_t code);
  void consumed(StreamId id, std::size_t count);
  void close(std::uint64_t application_code, std::string_view reason, Timestamp now);

  bool is_active() const { return phase_ == Phase::Active; }
  bool is_dead() const { return phase_ == Phase::Dead; }
  bool handshake_completed() const { return handshake_completed_; }
  const SocketAddress& remote() const { return remote_; }
  Counters counters() const;
  std::uint64_t queued_bytes() const;
  /// The first connection ID that this end chose.
  const ngtcp2_cid& source_id() const { return source_id_; }

 private:
  friend struct Callbacks;

  /// RFC 9000 §10.2: after a close this end answers with CONNECTION_CLOSE (Closing) or stays silent
  /// (Draining) for three PTO, then nothing of it is left.
  enum class Phase : std::uint8_t { Active, Closing, Draining, Dead };

  struct Stream {
    SendBuffer output;
    bool queued = false;          ///< in sendable_
    bool blocked = false;         ///< waits for the peer's MAX_STREAM_DATA
    bool awaits_opening = false;  ///< opened in rejected 0-RTT, not opened again yet
    bool reset_received = false;
    bool stop_reported = false;
    std::optional<std::uint64_t> reset_code;  ///< reset here
    std::optional<std::uint64_t> stop_code;   ///< STOP_SENDING sent here
  };

  ConnectionState(const Options& options, SocketAddress remote);
  ngtcp2_tstamp tick(Timestamp now);
  ngtcp2_settings make_settings(ngtcp2_tstamp now) const;
  ngtcp2_transport_params make_transport_params() const;
  Result<void> attach_tls(tls::SslPtr ssl);
  void prepare_early_data(const tls::ClientContext& context, const ClientParameters& parameters);

  Stream& stream(StreamId id) { return streams_[id]; }
  bool is_local(StreamId id) const { return ((id & 1) != 0) == is_server_; }
  void enqueue(StreamId id, Stream& stream);
  std::optional<StreamId> next_sendable(std::size_t& candidates);
  std::optional<Outgoing> write_packet(ngtcp2_tstamp now);
  /// Behind the last datagram of the client's first flight come its copies.
  std::optional<Outgoing> with_copies(std::optional<Outgoing>&& packet);
  void report_stop_sending(StreamId id, Stream& stream, std::uint64_t code);
  void reopen_early_streams();
  void on_handshake_completed();
  void take_tickets();
  /// Appends to the last event if both are data of one stream.
  void push_stream_data(StreamData&& data);

  // close.cpp
  void fail_with(int library_error, ngtcp2_tstamp now);
  void on_read_error(int library_error, ngtcp2_tstamp now);
  void on_peer_close(ngtcp2_tstamp now);
  void send_close(const ngtcp2_ccerr& error, ngtcp2_tstamp now);
  void end(Phase phase, ngtcp2_tstamp now);
  void emit_closed(CloseKind kind, std::uint64_t code, std::string detail);

  Options options_;
  SocketAddress remote_;
  bool is_server_ = false;
  Phase phase_ = Phase::Active;
  bool handshake_completed_ = false;
  bool early_data_offered_ = false;
  bool early_data_rejected_ = false;
  bool stateless_reset_ = false;
  bool pacing_blocked_ = false;
  ngtcp2_tstamp pacing_until_ = 0;
  ngtcp2_tstamp last_tick_ = 0;
  ngtcp2_tstamp deadline_ = 0;  ///< end of Closing or Draining
  Bytes close_packet_;
  std::deque<Outgoing> copies_;        ///< of the client's first flight, still to be sent
  bool first_flight_sent_ = false;
  bool close_packet_due_ = false;
  std::uint64_t received_while_closing_ = 0;
  Pacer pacer_;
  WithheldCrypto withheld_;            ///< with Options::withhold_initial_retransmission

  ServerHooks* hooks_ = nullptr;
  std::uint64_t key_ = 0;
  ngtcp2_cid source_id_{};
  QlogSink qlog_;

  std::map<StreamId, Stream> streams_;
  std::deque<StreamId> sendable_;
  std::deque<StreamId> awaiting_opening_;
  std::deque<Event> events_;

  // Freed in the destructor, in an order that OpenSSL's callbacks into ngtcp2 survive.
  tls::SslPtr ssl_;
  ngtcp2_crypto_conn_ref conn_ref_{};
  ngtcp2_crypto_ossl_ctx* crypto_ = nullptr;
  ngtcp2_conn* conn_ = nullptr;
};

/// The table of callbacks that a connection registers with ngtcp2.
ngtcp2_callbacks make_callbacks(bool server);

}  // namespace doxlab::quic::internal
