#pragma once
/// What an endpoint is made of. Private to the room.

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "quic/address_tokens.hpp"
#include "quic/connection_state.hpp"
#include "quic/endpoint.hpp"

namespace doxlab::quic {

inline constexpr double kResetBurst = 100;  // stateless resets at once; then admission.cpp's rate

struct Endpoint::State final : internal::ServerHooks {
  /// A connection and where it stands in the endpoint's queues.
  struct Entry {
    std::unique_ptr<Connection> connection;
    internal::ConnectionState* state = nullptr;
    std::vector<Bytes> ids;          ///< in `ids_` below
    std::optional<Timestamp> armed;  ///< in `timers_`
    bool dirty = false;              ///< in `dirty_`: may have datagrams
    bool ready = false;              ///< in `ready_`: has events
    bool half_open = true;
    bool doomed = false;  ///< in `dead_`: dies when its events were taken
  };

  State(const tls::ServerContext& context, EndpointOptions options);

  void receive(const SocketAddress& local, const SocketAddress& peer, BytesView datagram, Timestamp now);
  void on_timeout(Timestamp now);
  std::optional<Datagram> poll_datagram(Timestamp now);
  std::optional<ConnectionKey> poll_ready();
  void mark_dirty(ConnectionKey key, Entry& entry);
  /// Brings queues and timers in line with what the connection has become.
  void settle(ConnectionKey key, Entry& entry);
  void erase(ConnectionKey key);
  void bury_the_dead();

  // admission.cpp: datagrams that belong to no connection
  void admit(const SocketAddress& local, const SocketAddress& peer, BytesView datagram, Timestamp now);
  void create(const internal::ServerParameters& parameters, const ngtcp2_pkt_hd& header, BytesView datagram,
              Timestamp now);
  void answer_unknown_version(const SocketAddress& peer, BytesView client_source,
                              BytesView client_destination);
  void send_retry(const SocketAddress& peer, const ngtcp2_pkt_hd& header, Timestamp now);
  void refuse(const SocketAddress& peer, const ngtcp2_pkt_hd& header, std::uint64_t transport_error);
  void reset_stateless(const SocketAddress& peer, BytesView datagram, Timestamp now);
  void queue_stateless(const SocketAddress& peer, Bytes payload);

  // ServerHooks
  void id_issued(std::uint64_t key, const ngtcp2_cid& id) override;
  void id_retired(std::uint64_t key, const ngtcp2_cid& id) override;
  bool make_reset_token(const ngtcp2_cid& id, ngtcp2_stateless_reset_token& out) override;
  Bytes make_address_token(const SocketAddress& remote, ngtcp2_tstamp now) override;

  const tls::ServerContext& tls_;
  EndpointOptions options_;
  internal::AddressTokens tokens_;
  ConnectionKey next_key_ = 1;
  std::size_t half_open_ = 0;
  std::unordered_map<ConnectionKey, Entry> entries_;
  /// An ordered map: clients choose some of these IDs and could aim at a hash table's buckets.
  std::map<Bytes, ConnectionKey> ids_;
  std::set<std::pair<Timestamp, ConnectionKey>> timers_;
  std::deque<ConnectionKey> dirty_, ready_;
  std::vector<ConnectionKey> dead_;
  std::deque<Datagram> stateless_;
  std::size_t burst_ = 0;              ///< datagrams taken in a row from the front of dirty_
  double reset_tokens_ = kResetBurst;  ///< stateless resets that may still be sent
  Timestamp reset_refilled_{};
};

}  // namespace doxlab::quic
