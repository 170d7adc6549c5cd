#include "transport/doq/doq.hpp"

#include <gtest/gtest.h>

#include "dns/message.hpp"
#include "support/datagram_pair.hpp"
#include "support/tls_contexts.hpp"

namespace doxlab::transport {
namespace {

using test::DatagramPair;

Bytes query_for(std::string_view name, std::uint16_t id = 0x1234) {
  return *dns::compose_query(name, 1, {.id = id});
}

struct World {
  ClientOptions client;
  ServerOptions server;

  World() {
    client.tls = std::make_shared<tls::ClientContext>(test::client_tls_options());
    client.server_name = test::kServerName;
    client.local = test::client_address();
    client.remote = test::server_address();
    server.tls = std::make_shared<tls::ServerContext>(test::server_tls_options("doq"));
  }

  DatagramPair pair(link::Impairments impairments = {}) const {
    return {make_doq_client(client, Timestamp{1h}).value(), make_doq_server(server), std::move(impairments)};
  }
};

TEST(Doq, ColdQueryIsAnsweredAfterTwoRoundTrips) {
  World world;
  auto pair = world.pair();
  const auto handle = pair.client->submit(query_for("example.com."));
  pair.client->start(pair.now);
  ASSERT_TRUE(pair.run_to<ResponseReceived>()) << pair.link.transcript();
  EXPECT_EQ(pair.find<ResponseReceived>()->query, handle);
  EXPECT_EQ(pair.find<ResponseReceived>()->message, test::response_to(query_for("example.com.")));
  EXPECT_EQ(pair.time_of<HandshakeCompleted>(), 40ms) << pair.link.transcript();
  EXPECT_EQ(pair.time_of<ResponseReceived>(), 80ms) << pair.link.transcript();
  ASSERT_EQ(pair.queries.size(), 1u);
  EXPECT_EQ(dns::message_id(pair.queries[0].message), 0);
  EXPECT_FALSE(pair.queries[0].early_data);
}

}  // namespace
}  // namespace doxlab::transport
