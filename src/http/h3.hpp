#pragma once
/// HTTP/3 over someone else's QUIC streams (nghttp3): stream data in, stream data out. It does not know
/// which QUIC carries it. Whoever drives it opens the three unidirectional streams it asks for.

#include "http/h2.hpp"

namespace doxlab::http {

/// Bytes that the driver must write on a QUIC stream, in this order.
struct StreamWrite { std::int64_t stream; Bytes data; bool fin; };

class H3Client {
 public:
  H3Client();
  ~H3Client();
  /// Binds control and QPACK streams (client-initiated unidirectional, RFC 9114 §6.2).
  void bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder);
  /// Sends a request on an open bidirectional stream; the stream ID is the request's ID.
  void submit(std::int64_t stream, const Request& request);
  /// Returns how many bytes were consumed for flow control at once; the rest is reported later by
  /// take_consumed(). Errors arrive as ConnectionFailed with the H3 code in close_code().
  void receive(std::int64_t stream, BytesView data, bool fin);
  void stream_reset(std::int64_t stream, std::uint64_t code);
  void stream_closed(std::int64_t stream, std::uint64_t code);
  std::optional<StreamWrite> poll_write();
  std::optional<ClientEvent> poll_event();     ///< RequestId is the stream ID
  std::uint64_t close_code() const;            ///< H3_NO_ERROR unless the peer broke a rule

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class H3Server {
 public:
  explicit H3Server(H2Limits limits = {});
  ~H3Server();
  void bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder);
  void receive(std::int64_t stream, BytesView data, bool fin);
  void stream_reset(std::int64_t stream, std::uint64_t code);
  void stream_closed(std::int64_t stream, std::uint64_t code);
  std::optional<StreamWrite> poll_write();
  std::optional<IncomingRequest> poll_request();
  void respond(RequestId id, const Response& response);
  /// A fault of the peer that ends the connection; the driver closes QUIC with close_code().
  bool has_failed() const;
  std::uint64_t close_code() const;
  /// Faults of single streams (H3_MESSAGE_ERROR and the like): reset these with the code.
  struct StreamError { std::int64_t stream; std::uint64_t code; };
  std::optional<StreamError> poll_stream_error();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::http
