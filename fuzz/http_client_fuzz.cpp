// What a server sends to an HTTP client. Octet 0: 0 = HTTP/2, else HTTP/3. Then, for HTTP/2, the stream of
// octets; for HTTP/3, steps as in h3_server_fuzz.
#include <cstdlib>
#include <set>

#include "http/h3.hpp"

using namespace doxlab;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

const http::Request& request() {
  static const http::Request kRequest = http::make_doh_request(Bytes(33), false, "a", "/dns-query");
  return kRequest;
}

/// Each request ends once, and nothing follows the end of the connection.
template <class Client>
void check_events(Client& client, std::set<http::RequestId>& open, bool& over) {
  while (const auto event = client.poll_event()) {
    require(!over);
    if (const auto* arrived = std::get_if<http::ResponseArrived>(&*event)) {
      require(open.erase(arrived->id) == 1);
      require(arrived->response.body.size() <= http::kMaxMessageBytes);
      (void)http::read_doh_response(arrived->response);
    } else if (const auto* failed = std::get_if<http::RequestFailed>(&*event)) {
      require(open.erase(failed->id) == 1 && !failed->reason.empty());
    } else {
      over = true;
      require(open.empty());
    }
  }
}

void fuzz_h2(BytesView input) {
  http::H2Client client;
  std::set<http::RequestId> open = {client.submit(request()), client.submit(request())};
  bool over = false;
  client.take_output();
  client.receive(input);
  client.take_output();
  check_events(client, open, over);
  client.close();
  client.take_output();
  check_events(client, open, over);
  require(open.empty() && client.is_closed());
}

void fuzz_h3(BytesView input) {
  http::H3Client client;
  client.bind_streams(2, 6, 10);
  std::set<http::RequestId> open = {0, 4};
  client.submit(0, request());
  client.submit(4, request());
  bool over = false;
  std::set<std::int64_t> ended, closed;
  for (ByteReader in(input); !in.at_end();) {
    const std::uint8_t place = in.u8();
    const auto index = static_cast<std::int64_t>(place >> 1 & 7);
    const std::int64_t stream = (place & 1) == 0 ? 4 * (index & 1) : 4 * index + 3;
    const std::uint8_t what = in.u8();
    const BytesView bytes = in.take(std::min<std::size_t>(in.u8(), in.remaining()));
    switch (closed.contains(stream) ? 5 : what % 5) {
      case 0:
      case 1:
        if (ended.contains(stream)) break;
        if (what % 5 == 1) ended.insert(stream);
        client.receive(stream, bytes, what % 5 == 1);
        break;
      case 2:
        if (ended.insert(stream).second) client.stream_reset(stream, 0x10c);
        break;
      case 3: client.stop_sending((stream & 2) != 0 ? 2 : stream, 0x10c); break;
      case 4:
        closed.insert(stream);
        client.stream_closed(stream, 0x100);
        break;
      default: break;
    }
    if ((what & 0x80) != 0) {
      while (client.poll_write()) {
      }
      while (client.poll_stream_error()) {
      }
      check_events(client, open, over);
    }
  }
  check_events(client, open, over);
  client.stream_closed(0, 0x100);
  client.stream_closed(4, 0x100);
  check_events(client, open, over);
  require(open.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView input(data + 1, size - 1);
  if (data[0] == 0) {
    fuzz_h2(input);
  } else {
    fuzz_h3(input);
  }
  return 0;
}
