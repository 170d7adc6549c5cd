#pragma once
/// Servers that answer at one port number over UDP and TCP, as clients expect where answers are truncated.

#include <functional>
#include <memory>
#include <stdexcept>

#include "server/server.hpp"

namespace doxlab {

/// Makes a server and lets `listen` choose its ports; again, with a new server, where a number that is free over UDP
/// is taken over TCP. Errors: std::runtime_error after twenty attempts, and what `listen` throws otherwise.
inline std::unique_ptr<server::Server> listen_with_shared_ports(asio::io_context& io, const server::ServerOptions& options,
                                                                const std::function<void(server::Server&)>& listen) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    auto out = std::make_unique<server::Server>(io, options);
    try {
      listen(*out);
      return out;
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::address_in_use) throw;
    }
    out->close(std::chrono::nanoseconds(0));
    io.run();
    io.restart();
  }
  throw std::runtime_error("no port number is free over both UDP and TCP");
}

}  // namespace doxlab
