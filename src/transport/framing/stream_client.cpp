#include "transport/framing/stream_client.hpp"

namespace doxlab::transport {

QueryHandle StreamClient::submit(BytesView query) {
  const QueryHandle handle = queries_.new_handle();
  if (ended_) {
    events_.push_back(QueryFailed{handle, "the connection is closed"});
    return handle;
  }
  const auto id = queries_.add(handle, query);
  if (!id) {
    events_.push_back(QueryFailed{handle, id.error().message});
    return handle;
  }
  if (auto written = channel_->write(frame(queries_.find(*id)->wire)); !written) {
    end(written.error().message, {false, written.error().message});
  }
  return handle;
}

void StreamClient::start(Timestamp) {
  if (started_ || ended_) return;
  started_ = true;
  if (auto result = channel_->start(); !result) end(result.error().message, {false, result.error().message});
}

void StreamClient::receive(BytesView input, Timestamp) {
  if (ended_) return;
  const auto received = channel_->receive(input);
  announce();
  reader_.feed(channel_->take_plaintext());
  while (const auto message = reader_.next()) {
    if (auto response = queries_.match(*message)) events_.push_back(std::move(*response));
  }
  if (!received) {
    end(received.error().message, {false, received.error().message});
  } else if (channel_->peer_closed()) {
    channel_->close();
    end_by_peer(true);
  }
}

void StreamClient::announce() {
  if (!announced_ && channel_->established()) {
    announced_ = true;
    if (auto info = channel_->handshake_info()) events_.push_back(HandshakeCompleted{std::move(*info)});
  }
  if (auto ticket = channel_->take_ticket()) events_.push_back(TicketReceived{std::move(*ticket), {}});
}

void StreamClient::receive_end(Timestamp) {
  if (!ended_) end_by_peer(false);
}

void StreamClient::end_by_peer(bool said_goodbye) {
  std::string reason;
  if (!channel_->established()) {
    reason = "the server closed the connection during the handshake";
  } else if (reader_.buffered() != 0) {
    reason = "the server closed the connection inside a message";
  } else if (!queries_.empty()) {
    reason = said_goodbye ? "the server closed the session before it answered"
                          : "the server closed the connection before it answered";
  }
  end(reason, {reason.empty(), reason});
}

void StreamClient::end(std::string query_reason, Closed closed) {
  ended_ = true;
  for (const QueryHandle handle : queries_.take_all()) events_.push_back(QueryFailed{handle, query_reason});
  events_.push_back(std::move(closed));
}

std::optional<Bytes> StreamClient::poll_output(Timestamp) {
  if (!started_) return std::nullopt;
  Bytes output = channel_->take_output();
  if (output.empty()) return std::nullopt;
  return output;
}

std::optional<Event> StreamClient::poll_event() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void StreamClient::close(Timestamp) {
  if (ended_) return;
  channel_->close();
  end("the client closed the connection", {true, {}});
}

}  // namespace doxlab::transport
