// What a client sends to an HTTP/3 server: a list of steps, each an octet for the stream, one for what happens
// on it (data, data with FIN, RESET_STREAM, STOP_SENDING, closed), one for the length of the data.
#include <cstdlib>
#include <set>

#include "http/h3.hpp"

using namespace doxlab;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Client-initiated streams only; our own unidirectional ones for STOP_SENDING. QUIC delivers nothing else.
std::int64_t stream_of(std::uint8_t octet) {
  const auto index = static_cast<std::int64_t>(octet >> 1 & 15);
  return (octet & 1) == 0 ? 4 * index : 4 * index + 2;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const http::H2Limits limits;
  http::H3Server server(limits);
  server.bind_streams(3, 7, 11);
  std::set<std::int64_t> ended, closed;
  ByteReader in({data, size});
  while (!in.at_end()) {
    const std::int64_t stream = stream_of(in.u8());
    const std::uint8_t what = in.u8();
    const BytesView bytes = in.take(std::min<std::size_t>(in.u8(), in.remaining()));
    const bool unidirectional = (stream & 2) != 0;
    switch (closed.contains(stream) ? 5 : what % 5) {
      case 0:
      case 1:
        if (ended.contains(stream)) break;
        if (what % 5 == 1) ended.insert(stream);
        server.receive(stream, bytes, what % 5 == 1);
        break;
      case 2:
        if (ended.insert(stream).second) server.stream_reset(stream, 0x10c);
        break;
      case 3: server.stop_sending(unidirectional ? 3 : stream, 0x10c); break;
      case 4:
        closed.insert(stream);
        server.stream_closed(stream, 0x100);
        require(!server.is_open(static_cast<http::RequestId>(stream)));
        break;
      default: break;
    }
    if ((what & 0x80) != 0) {
      while (const auto incoming = server.poll_request()) {
        require(incoming->request.body.size() <= limits.max_body_bytes);
        server.respond(incoming->id, http::make_doh_response(Bytes(60), 300));
      }
    }
    if ((what & 0x40) != 0) {
      while (const auto write = server.poll_write()) require(!write->data.empty() || write->fin);
      while (server.poll_stream_error()) {
      }
    }
    if ((what & 0x20) != 0) server.close();
  }
  require(server.has_failed() == (server.close_code() != http::kH3NoError));
  return 0;
}
