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

struct SocketOptions {
  std::optional<SocketAddress> bind;      ///< local address and port; empty: the kernel's choice
  bool fast_open = false;                 ///< TCP Fast Open (RFC 7413) where the kernel has a cookie
  std::string congestion_control;         ///< TCP: a name the kernel knows; empty: its default
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
