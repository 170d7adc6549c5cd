#pragma once
/// HTTP/2 connections over bytes in memory (nghttp2): requests and responses as whole messages, with
/// limits. No sockets, no TLS, no DNS.

#include <memory>
#include <optional>
#include <variant>

#include "http/doh.hpp"

namespace doxlab::http {

using RequestId = std::uint64_t;

struct ResponseArrived { RequestId id; Response response; };
struct RequestFailed { RequestId id; std::string reason; };   ///< RST_STREAM, REFUSED_STREAM, GOAWAY
struct ConnectionFailed { std::string reason; };              ///< last event
using ClientEvent = std::variant<ResponseArrived, RequestFailed, ConnectionFailed>;

class H2Client {
 public:
  H2Client();
  ~H2Client();
  RequestId submit(const Request& request);
  void receive(BytesView input);
  Bytes take_output();
  std::optional<ClientEvent> poll_event();
  void close();   ///< GOAWAY(NO_ERROR)
  bool is_closed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct H2Limits {
  std::uint32_t max_concurrent_streams = 100;
  std::size_t max_body_bytes = 65535;
  std::size_t max_header_bytes = 16 * 1024;   ///< decoded; more: 431
  std::size_t max_queued_output_bytes = 1024 * 1024;
  std::size_t max_resets = 200;               ///< RST_STREAM received or caused; more: ENHANCE_YOUR_CALM
};

struct IncomingRequest { RequestId id; Request request; };

class H2Server {
 public:
  explicit H2Server(H2Limits limits = {});
  ~H2Server();
  void receive(BytesView input);
  Bytes take_output();
  std::optional<IncomingRequest> poll_request();
  /// A stream that has died meanwhile is ignored.
  void respond(RequestId id, const Response& response);
  void close();
  bool is_closed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::http
