#pragma once
/// HTTP/3 over someone else's QUIC streams (nghttp3): stream data in, stream data out. It does not know
/// which QUIC carries it. Whoever drives it opens the three unidirectional streams it asks for.
///
/// Flow control: everything given to receive() counts as consumed when the call returns, so the driver
/// gives the credit back at once. What is kept of it is bounded by the limits on fields and bodies, and
/// QPACK blocks no stream because no dynamic table is allowed (RFC 9204 §3.2.3).

#include "http/h2.hpp"

namespace doxlab::http {

/// Codes of RFC 9114 §8.1 that drivers use.
inline constexpr std::uint64_t kH3NoError = 0x100, kH3InternalError = 0x102, kH3ExcessiveLoad = 0x107,
                               kH3RequestCancelled = 0x10c, kH3RequestIncomplete = 0x10d, kH3MessageError = 0x10e;

/// Bytes that the driver must write on a QUIC stream, in this order. Nothing refers to them afterwards.
struct StreamWrite { std::int64_t stream; Bytes data; bool fin; };

/// A fault of one stream, or the end of interest in it: the driver sends STOP_SENDING with the code and,
/// if `reset`, RESET_STREAM too.
struct StreamError { std::int64_t stream; std::uint64_t code; bool reset = true; };

class H3Client {
 public:
  H3Client();
  ~H3Client();
  /// Binds control and QPACK streams (client-initiated unidirectional, RFC 9114 §6.2). Before submit().
  void bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder);
  /// Sends a request on an open bidirectional stream; the stream ID is the request's ID.
  void submit(std::int64_t stream, const Request& request);
  /// Errors arrive as ConnectionFailed with the H3 code in close_code().
  void receive(std::int64_t stream, BytesView data, bool fin);
  /// The peer sent RESET_STREAM.
  void stream_reset(std::int64_t stream, std::uint64_t code);
  /// The peer sent STOP_SENDING: it wants no more of the request; a response may still come.
  void stop_sending(std::int64_t stream, std::uint64_t code);
  /// Both directions are done; state of the stream is freed.
  void stream_closed(std::int64_t stream, std::uint64_t code);
  std::optional<StreamWrite> poll_write();
  std::optional<ClientEvent> poll_event();     ///< RequestId is the stream ID
  std::optional<StreamError> poll_stream_error();
  std::uint64_t close_code() const;            ///< H3_NO_ERROR unless the peer broke a rule

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class H3Server {
 public:
  /// The same limits as HTTP/2, except max_concurrent_streams, which is QUIC's to keep.
  explicit H3Server(H2Limits limits = {});
  ~H3Server();
  /// Binds control and QPACK streams (server-initiated unidirectional).
  void bind_streams(std::int64_t control, std::int64_t qpack_encoder, std::int64_t qpack_decoder);
  void receive(std::int64_t stream, BytesView data, bool fin);
  /// The peer sent RESET_STREAM: a request that is not answered is cancelled.
  void stream_reset(std::int64_t stream, std::uint64_t code);
  /// The peer sent STOP_SENDING: it does not want the response.
  void stop_sending(std::int64_t stream, std::uint64_t code);
  void stream_closed(std::int64_t stream, std::uint64_t code);
  std::optional<StreamWrite> poll_write();
  std::optional<IncomingRequest> poll_request();
  /// A stream that has died meanwhile is ignored. The body is left out if the request was HEAD.
  void respond(RequestId id, const Response& response);
  /// GOAWAY: requests on later streams are rejected, earlier ones answered.
  void close();
  /// A fault of the peer that ends the connection; the driver closes QUIC with close_code().
  bool has_failed() const;
  std::uint64_t close_code() const;
  using StreamError = http::StreamError;
  /// Faults of single streams (H3_MESSAGE_ERROR and the like), and streams answered early.
  std::optional<StreamError> poll_stream_error();
  /// Gives a request up from this side: its stream is reset with `code`.
  void abandon(RequestId id, std::uint64_t code);
  /// Requests whose stream is open, answered or not.
  std::size_t open_requests() const;
  bool is_open(RequestId id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doxlab::http
