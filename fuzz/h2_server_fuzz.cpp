// What a client sends to an HTTP/2 server. Octet 0: 1 = a good opening goes first, 2 = requests are answered,
// 4 = answers are large. Octet 1: how many octets the server gets at a time (0: all).
#include <cstdlib>

#include "http/h2.hpp"
#include "unit/http/h2_frames.hpp"

using namespace doxlab;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint8_t flags = data[0];
  const std::size_t step = data[1] == 0 ? size : data[1];
  BytesView input(data + 2, size - 2);
  const http::H2Limits limits;
  http::H2Server server(limits);
  if ((flags & 1) != 0) server.receive(http::test::opening());
  const http::Response answer = http::make_doh_response(Bytes((flags & 4) != 0 ? 65535 : 60), 300);
  while (!input.empty()) {
    const std::size_t length = std::min(step, input.size());
    server.receive(input.first(length));
    input = input.subspan(length);
    while (const auto incoming = server.poll_request()) {
      require(incoming->request.body.size() <= limits.max_body_bytes);
      std::size_t fields = 0;
      for (const auto& header : incoming->request.headers) fields += header.name.size() + header.value.size() + 32;
      require(fields <= limits.max_header_bytes);
      require(server.is_open(incoming->id));
      if ((flags & 2) != 0) server.respond(incoming->id, answer);
    }
    require(server.open_requests() <= limits.max_concurrent_streams);
    const bool was_closed = server.is_closed();
    require(server.take_output().empty() || !was_closed);
  }
  server.close();
  server.take_output();
  server.close();
  server.take_output();
  require(server.is_closed());
  return 0;
}
