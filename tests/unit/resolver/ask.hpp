#pragma once
/// Asking a resolver in tests: a query in, a parsed answer out.

#include <gtest/gtest.h>

#include <string_view>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "resolver/resolver.hpp"

namespace doxlab::resolver {

inline std::shared_ptr<const Zone> zone_of(std::string_view text) {
  const auto zone = Zone::parse(text);
  if (!zone) throw std::runtime_error("zone of a test: " + zone.error().message);
  return *zone;
}

inline Bytes query_for(std::string_view name, std::string_view type, dns::QueryOptions options = {}) {
  options.id = options.id ? options.id : 0x4242;
  return dns::compose_query(name, dns::parse_type(type).value(), options).value();
}

/// The answer, parsed; also checks what is true of every answer to a sound query.
inline dns::Message ask(const Resolver& resolver, const Bytes& query, const QueryContext& context = {}) {
  const auto wire = resolver.answer(query, context);
  const auto message = dns::parse_message(wire);
  if (!message) {
    ADD_FAILURE() << message.error().message << ": " << to_hex(wire);
    return {};
  }
  EXPECT_TRUE(dns::is_answer_to(query, wire));
  EXPECT_EQ(message->edns, dns::parse_message(query).value().edns);
  return *message;
}

inline dns::Message ask(const Resolver& resolver, std::string_view name, std::string_view type) {
  return ask(resolver, query_for(name, type));
}

/// "www.example. CNAME example." for each record, in order.
inline std::vector<std::string> lines(const std::vector<dns::Record>& records) {
  std::vector<std::string> out;
  for (const auto& record : records) {
    out.push_back(record.name + " " + dns::type_to_string(record.type) + " " + record.rdata);
  }
  return out;
}

}  // namespace doxlab::resolver
