#include "quic/connection.hpp"

#include <utility>

#include "quic/connection_state.hpp"

namespace doxlab::quic {

Connection::Connection(std::unique_ptr<internal::ConnectionState> state) : state_(std::move(state)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::connect(const tls::ClientContext& context,
                                                        const Options& options,
                                                        const ClientParameters& parameters, Timestamp now) {
  auto state = internal::ConnectionState::make_client(context, options, parameters, now);
  if (!state) return std::unexpected(state.error());
  return std::make_unique<Connection>(std::move(*state));
}

void Connection::receive(const SocketAddress& local, const SocketAddress& remote, BytesView datagram,
                         Timestamp now) {
  state_->receive(local, remote, datagram, now);
}

void Connection::on_timeout(Timestamp now) {
  state_->on_timeout(now);
}
std::optional<Timestamp> Connection::next_timeout() const {
  return state_->next_timeout();
}

std::optional<Bytes> Connection::poll_datagram(Timestamp now) {
  auto packet = state_->poll(now);
  if (!packet) return std::nullopt;
  return std::move(packet->payload);
}

std::optional<Event> Connection::poll_event() {
  return state_->poll_event();
}
std::optional<StreamId> Connection::open_bidirectional() {
  return state_->open(true);
}
std::optional<StreamId> Connection::open_unidirectional() {
  return state_->open(false);
}
void Connection::write(StreamId id, BytesView data, bool fin) {
  state_->write(id, data, fin);
}
void Connection::reset(StreamId id, std::uint64_t code) {
  state_->reset(id, code);
}
void Connection::stop_sending(StreamId id, std::uint64_t code) {
  state_->stop_sending(id, code);
}
void Connection::consumed(StreamId id, std::size_t count) {
  state_->consumed(id, count);
}

void Connection::close(std::uint64_t application_code, std::string_view reason, Timestamp now) {
  state_->close(application_code, reason, now);
}

bool Connection::is_closed() const {
  return !state_->is_active();
}
bool Connection::handshake_completed() const {
  return state_->handshake_completed();
}
SocketAddress Connection::remote() const {
  return state_->remote();
}
Counters Connection::counters() const {
  return state_->counters();
}
std::uint64_t Connection::queued_bytes() const {
  return state_->queued_bytes();
}

}  // namespace doxlab::quic
