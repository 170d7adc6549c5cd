#pragma once
/// HTTP/2 connections over bytes in memory (nghttp2): requests and responses as whole messages, with
/// limits. No sockets, no TLS, no DNS, no clock.

#include <memory>
#include <optional>
#include <variant>

#include "http/doh.hpp"

namespace doxlab::http {

using RequestId = std::uint64_t;

struct ResponseArrived { RequestId id; Response response; };
struct RequestFailed { RequestId id; std::string reason; };   ///< RST_STREAM, REFUSED_STREAM, GOAWAY
/// The last event. `clean`: the peer said GOAWAY(NO_ERROR) and nothing was left unanswered.
struct ConnectionFailed { std::string reason; bool clean = false; };
using ClientEvent = std::variant<ResponseArrived, RequestFailed, ConnectionFailed>;

class H2Client {
 public:
  H2Client();
  ~H2Client();
  /// Requests submitted before the first take_output() leave in one flight with the preface and SETTINGS.
  /// Over the server's SETTINGS_MAX_CONCURRENT_STREAMS they wait.
  RequestId submit(const Request& request);
  void receive(BytesView input);
  Bytes take_output();
  std::optional<ClientEvent> poll_event();
  /// GOAWAY(NO_ERROR). Requests in flight fail; there is no ConnectionFailed for an end asked for here.
  void close();
  bool is_closed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct H2Limits {
  std::uint32_t max_concurrent_streams = 100;
  std::size_t max_body_bytes = 65535;
  std::size_t max_header_bytes = 16 * 1024;   ///< decoded; more: 431
  std::size_t max_buffered_body_bytes = 128 * 1024;  ///< of all requests not yet complete; more: connection ends
  std::size_t max_queued_output_bytes = 1024 * 1024;
  /// RST_STREAM received or caused, less one for each answer delivered; more: ENHANCE_YOUR_CALM.
  std::size_t max_resets = 200;
};

struct IncomingRequest { RequestId id; Request request; };

class H2Server {
 public:
  explicit H2Server(H2Limits limits = {});
  ~H2Server();
  /// Input that is not HTTP/2, breaks its rules or passes a limit ends the connection with GOAWAY. Too
  /// many octets of fields get 431, a body over the cap 413, from here: they never become requests.
  void receive(BytesView input);
  Bytes take_output();
  std::optional<IncomingRequest> poll_request();
  /// A stream that has died meanwhile is ignored. The body is left out if the request was HEAD.
  void respond(RequestId id, const Response& response);
  /// Graceful: with requests open, GOAWAY(2^31-1) now and the final GOAWAY when they are answered; a
  /// second call ends at once.
  void close();
  bool is_closed() const;
  /// Requests whose stream is open, answered or not.
  std::size_t open_requests() const;
  bool is_open(RequestId id) const;
  /// The newest request whose header fields have begun to arrive; 0: none. IDs grow.
  RequestId last_request() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::http
