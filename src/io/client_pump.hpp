#pragma once
/// Carries one client session over one kernel socket: bytes both ways, its timer, its events. The only
/// place where a client session meets a socket and the clock. Single-threaded: everything happens in the
/// io_context's thread, and the socket belongs to the network namespace of that thread.

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/address.hpp"
#include "transport/session.hpp"

namespace doxlab::io {

/// Sees what sockets carry, in the pump's thread, where nothing else can count it: no more than a few calls for each packet.
class SocketWatcher {
 public:
  virtual ~SocketWatcher() = default;

  /// Before the first datagram is sent; over TCP right after the SYN, which was sent at `when`. `socket` is open until
  /// on_close().
  virtual void on_open(int socket, bool is_stream, const SocketAddress& local, Timestamp when) = 0;
  /// TCP is established.
  virtual void on_connected(int socket, Timestamp when) = 0;
  /// Before octets are handed to the kernel at `when`: datagrams one by one, of a stream as they are there.
  virtual void on_sending(int socket, Timestamp when) = 0;
  /// The kernel has taken them.
  virtual void on_sent(int socket, BytesView octets, Timestamp when) = 0;
  /// Something has come; before any of it is read.
  virtual void on_readable(int socket) = 0;
  /// It was read; `when` it arrived, by the kernel's word. No octets: an empty datagram, or the end of the stream.
  virtual void on_received(int socket, BytesView octets, Timestamp when) = 0;
  /// Before the socket is closed.
  virtual void on_close(int socket) = 0;
};

struct SocketOptions {
  std::optional<SocketAddress> bind;      ///< local address and port; empty: the kernel's choice
  bool fast_open = false;                 ///< TCP Fast Open (RFC 7413) where the kernel has a cookie
  std::string congestion_control;         ///< TCP: a name the kernel knows; empty: its default
  std::shared_ptr<SocketWatcher> watcher; ///< null: nobody
};

struct PumpCallbacks {
  /// TCP is established (stream transports only), before the session starts.
  std::function<void(Timestamp)> on_connected;
  /// Every event of the session, with the time at which it was there. A socket error arrives as Closed.
  std::function<void(transport::Event&&, Timestamp)> on_event;
};

class ClientPump {
 public:
  virtual ~ClientPump() = default;

  /// Opens the socket and begins. Socket errors (no route, port in use) arrive as a Closed event, never
  /// from inside this call. The pump lives until close() has run its course, whatever the caller keeps.
  static std::shared_ptr<ClientPump> open(asio::io_context& context, bool stream,
                                          std::unique_ptr<transport::ClientSession> session,
                                          const SocketAddress& remote, const SocketOptions& options,
                                          PumpCallbacks callbacks);

  virtual transport::QueryHandle submit(BytesView query) = 0;
  /// Closes the session in its protocol's way and keeps the socket for `linger`, so that the peer's last
  /// packets find it and are not answered with ICMP or RST. No callback runs afterwards.
  virtual void close(Duration linger) = 0;
  virtual SocketAddress local_address() const = 0;
};

}  // namespace doxlab::io
