#pragma once
/// Carries the server halves of the transports over kernel sockets: one listener for each address and
/// transport. Single-threaded; sockets belong to the network namespace of the thread that makes them.

#include <asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/address.hpp"
#include "transport/session.hpp"

namespace doxlab::io {

/// Answers a query; empty: no answer is due. Called in the listener's thread and expected to be quick.
using QueryHandler = std::function<Bytes(const transport::IncomingQuery&)>;

class Listener {
 public:
  virtual ~Listener() = default;
  /// Where it listens; the port is the kernel's choice if 0 was asked for.
  virtual SocketAddress address() const = 0;
  /// Stops accepting and closes what is open in the protocol's way; sockets go within `linger`.
  virtual void close(Duration linger) = 0;
  /// TCP connections open now; 0 for datagram transports.
  virtual std::size_t connections() const = 0;
};

using MakeStreamSession = std::function<std::unique_ptr<transport::StreamServerSession>(Timestamp now)>;

struct StreamListenerOptions {
  std::size_t max_connections = 8000;  ///< further ones are closed at once after accept
  std::string congestion_control;      ///< empty: the kernel's default
  bool fast_open = false;
};

/// Errors: std::system_error of the system's category (address in use, no permission) naming the address.
std::shared_ptr<Listener> listen_stream(asio::io_context& context, const SocketAddress& address,
                                        const StreamListenerOptions& options, MakeStreamSession make_session,
                                        QueryHandler handler);
std::shared_ptr<Listener> listen_datagram(asio::io_context& context, const SocketAddress& address,
                                          std::unique_ptr<transport::DatagramServer> server, QueryHandler handler);

}  // namespace doxlab::io
