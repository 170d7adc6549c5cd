#include "transport/do53/udp_client.hpp"

namespace doxlab::transport {

QueryHandle UdpClient::submit(BytesView query) {
  const QueryHandle handle = queries_.new_handle();
  if (closed_) {
    events_.push_back(QueryFailed{handle, "the session is closed"});
  } else if (const auto id = queries_.add(handle, query)) {
    unsent_.push_back(*id);
  } else {
    events_.push_back(QueryFailed{handle, id.error().message});
  }
  return handle;
}

void UdpClient::start(Timestamp) { started_ = true; }

void UdpClient::receive(BytesView datagram, Timestamp) {
  if (auto response = queries_.match(datagram)) events_.push_back(std::move(*response));
  // Answered queries leave the list of timers as they come to its front.
  while (!sent_.empty() && !is_open(sent_.front())) sent_.pop_front();
}

bool UdpClient::is_open(const Sent& sent) const {
  const OpenQueries::Query* query = queries_.find(sent.id);
  return query != nullptr && query->handle == sent.handle;
}

std::optional<Timestamp> UdpClient::next_timeout() const {
  if (sent_.empty()) return std::nullopt;
  return sent_.front().due;
}

void UdpClient::on_timeout(Timestamp now) {
  while (!sent_.empty() && (sent_.front().due <= now || !is_open(sent_.front()))) {
    if (is_open(sent_.front())) unsent_.push_back(sent_.front().id);
    sent_.pop_front();
  }
}

std::optional<Bytes> UdpClient::poll_output(Timestamp now) {
  while (started_ && !unsent_.empty()) {
    const std::uint16_t id = unsent_.front();
    unsent_.pop_front();
    const OpenQueries::Query* query = queries_.find(id);
    if (query == nullptr) continue;  // answered or closed meanwhile
    if (retransmission_ > Duration::zero()) sent_.push_back({id, query->handle, now + retransmission_});
    return query->wire;
  }
  return std::nullopt;
}

std::optional<Event> UdpClient::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void UdpClient::close(Timestamp) {
  if (closed_) return;
  closed_ = true;
  sent_.clear();
  unsent_.clear();
  for (const QueryHandle handle : queries_.take_all()) {
    events_.push_back(QueryFailed{handle, "the client closed the session"});
  }
  events_.push_back(Closed{true, {}});
}

}  // namespace doxlab::transport
