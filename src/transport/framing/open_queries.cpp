#include "transport/framing/open_queries.hpp"

#include <sys/random.h>

#include <algorithm>

#include "dns/message.hpp"
#include "dns/scan.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport {
namespace {

std::uint16_t random_id() {
  std::uint16_t id = 0;
  // Requests of up to 256 octets are served whole once the kernel's generator is seeded (getrandom(2)).
  while (getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) {
  }
  return id;
}

}  // namespace

Result<std::uint16_t> OpenQueries::add(QueryHandle handle, BytesView query) {
  if (query.size() < dns::kHeaderOctets) return fail("the query is shorter than a DNS header");
  if (query.size() > kMaxMessageOctets) return fail("the query is longer than 65,535 octets");
  if (open_.size() > 0xFFFF) return fail("65,536 queries are in flight, so no message ID is free");
  std::uint16_t id = random_id();
  // To the next gap, one neighbour at a time; past the top ID the search starts again at 0.
  for (auto taken = open_.find(id); taken != open_.end() && taken->first == id;) {
    ++id;
    taken = id == 0 ? open_.begin() : std::next(taken);
  }
  Query& open = open_[id];
  open = {handle, dns::message_id(query), to_bytes(query)};
  dns::set_message_id(open.wire, id);
  return id;
}

const OpenQueries::Query* OpenQueries::find(std::uint16_t id) const {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second;
}

std::optional<ResponseReceived> OpenQueries::match(BytesView message) {
  const auto found = message.size() < dns::kHeaderOctets ? open_.end() : open_.find(dns::message_id(message));
  if (found == open_.end() || !dns::is_answer_to(found->second.wire, message)) {
    ++dropped_;
    return std::nullopt;
  }
  ResponseReceived response{found->second.handle, to_bytes(message)};
  dns::set_message_id(response.message, found->second.submitted_id);
  open_.erase(found);
  return response;
}

std::vector<QueryHandle> OpenQueries::take_all() {
  std::vector<QueryHandle> handles;
  for (const auto& [id, query] : open_) handles.push_back(query.handle);
  std::ranges::sort(handles);
  open_.clear();
  return handles;
}

}  // namespace doxlab::transport
