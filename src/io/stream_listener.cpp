#include <netinet/tcp.h>

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <format>
#include <unordered_set>

#include "io/endpoint.hpp"
#include "io/listener.hpp"

namespace doxlab::io {
namespace {

class StreamListener;

/// One accepted connection: the session, its socket and its timer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, std::unique_ptr<transport::StreamServerSession> session,
             std::shared_ptr<StreamListener> owner)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), session_(std::move(session)),
        owner_(std::move(owner)) {}

  void begin() {
    service();
    wait_readable();
  }

  void close(Duration linger) {
    if (finished_) return;
    session_->close(monotonic_now());
    service();
    if (finished_) return;
    deadline_ = monotonic_now() + linger;
    arm_timer();
  }

 private:
  void service();
  void finish();

  void flush() {
    while (!unsent_.empty() && !waiting_writable_) {
      const auto sent = ::send(socket_.native_handle(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        waiting_writable_ = true;
        socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this(), this](const std::error_code& error) {
          waiting_writable_ = false;
          if (error || finished_) return;
          service();
        });
      } else if (errno != EINTR) {
        finish();
        return;
      }
    }
  }

  void wait_readable() {
    socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this(), this](const std::error_code& error) {
      if (error || finished_) return;
      std::array<std::uint8_t, 16384> buffer;
      bool ended = false;
      // A bounded batch: one busy client must not keep the others from their turn.
      for (int i = 0; i < 8 && !ended; ++i) {
        const auto got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
        if (got > 0) {
          session_->receive(BytesView(buffer).first(static_cast<std::size_t>(got)), monotonic_now());
        } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
          break;
        } else if (got < 0 && errno != EINTR) {
          finish();
          return;
        } else if (got == 0) {
          session_->receive_end(monotonic_now());
          ended = true;
        }
      }
      service();
      if (!finished_ && !ended && !backlogged()) wait_readable();
      paused_ = !finished_ && !ended && backlogged();
    });
  }

  /// A client that does not read gets nothing more read from it.
  bool backlogged() const { return unsent_.size() > 256 * 1024; }

  void arm_timer() {
    auto due = session_->next_timeout();
    if (deadline_ && (!due || *deadline_ < *due)) due = deadline_;
    if (!due || armed_ == due) return;
    armed_ = due;
    timer_.expires_at(*due);
    timer_.async_wait([self = shared_from_this(), this](const std::error_code& error) {
      if (error || finished_) return;
      armed_.reset();
      const auto now = monotonic_now();
      if (deadline_ && now >= *deadline_) {
        finish();
        return;
      }
      session_->on_timeout(now);
      service();
    });
  }

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::optional<Timestamp> armed_, deadline_;
  std::unique_ptr<transport::StreamServerSession> session_;
  std::shared_ptr<StreamListener> owner_;
  Bytes unsent_;
  bool waiting_writable_ = false, paused_ = false, finished_ = false;
};

class StreamListener final : public Listener, public std::enable_shared_from_this<StreamListener> {
 public:
  StreamListener(asio::io_context& context, const StreamListenerOptions& options, MakeStreamSession make_session,
                 QueryHandler handler)
      : acceptor_(context), retry_timer_(context), options_(options), make_session_(std::move(make_session)),
        handler_(std::move(handler)) {}

  void begin(const SocketAddress& address) {
    try {
      const auto endpoint = to_tcp(address);
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true));
      if (address.ip.is_v6()) acceptor_.set_option(asio::ip::v6_only(true));
      acceptor_.bind(endpoint);
      if (!options_.congestion_control.empty() &&
          ::setsockopt(acceptor_.native_handle(), IPPROTO_TCP, TCP_CONGESTION, options_.congestion_control.data(),
                       static_cast<socklen_t>(options_.congestion_control.size())) != 0)
        throw std::system_error(errno, std::generic_category(), "congestion control " + options_.congestion_control);
      if (const int queue = 1024; options_.fast_open && ::setsockopt(acceptor_.native_handle(), IPPROTO_TCP, TCP_FASTOPEN,
                                                                     &queue, sizeof queue) != 0)
        throw std::system_error(errno, std::generic_category(), "TCP Fast Open");
      acceptor_.listen(4096);
      acceptor_.non_blocking(true);
    } catch (const std::system_error& error) {
      throw std::system_error(from_asio(error.code()), std::format("listen on tcp {}", address.to_string()));
    }
    accept();
  }

  SocketAddress address() const override { return from_asio(acceptor_.local_endpoint()); }
  std::size_t connections() const override { return open_.size(); }

  void close(Duration linger) override {
    closed_ = true;
    std::error_code ignored;
    acceptor_.close(ignored);
    retry_timer_.cancel();
    const auto open = open_;
    for (const auto& connection : open) connection->close(linger);
  }

  void forget(const std::shared_ptr<Connection>& connection) { open_.erase(connection); }
  Bytes answer(const transport::IncomingQuery& query) const { return handler_(query); }

 private:
  void accept() {
    acceptor_.async_accept([self = shared_from_this(), this](const std::error_code& error, asio::ip::tcp::socket socket) {
      if (closed_) return;
      if (error) {
        // Out of descriptors or a connection that died in the queue: wait a little, then go on.
        retry_timer_.expires_after(50ms);
        retry_timer_.async_wait([self](const std::error_code& cancelled) {
          if (!cancelled && !self->closed_) self->accept();
        });
        return;
      }
      if (open_.size() < options_.max_connections) {
        std::error_code ignored;
        socket.non_blocking(true, ignored);
        socket.set_option(asio::ip::tcp::no_delay(true), ignored);
        auto connection = std::make_shared<Connection>(std::move(socket), make_session_(monotonic_now()), self);
        open_.insert(connection);
        connection->begin();
      }
      accept();
    });
  }

  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer retry_timer_;
  StreamListenerOptions options_;
  MakeStreamSession make_session_;
  QueryHandler handler_;
  std::unordered_set<std::shared_ptr<Connection>> open_;
  bool closed_ = false;
};

void Connection::service() {
  const auto now = monotonic_now();
  while (auto query = session_->poll_query()) {
    const auto answer = owner_->answer(*query);
    session_->answer(query->handle, answer, now);
  }
  while (auto output = session_->poll_output(now)) unsent_.insert(unsent_.end(), output->begin(), output->end());
  flush();
  if (finished_) return;
  if (session_->is_closed() && unsent_.empty()) {
    finish();
    return;
  }
  if (paused_ && !backlogged()) {
    paused_ = false;
    wait_readable();
  }
  arm_timer();
}

void Connection::finish() {
  if (finished_) return;
  finished_ = true;
  timer_.cancel();
  std::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  owner_->forget(shared_from_this());
}

}  // namespace

std::shared_ptr<Listener> listen_stream(asio::io_context& context, const SocketAddress& address,
                                        const StreamListenerOptions& options, MakeStreamSession make_session,
                                        QueryHandler handler) {
  auto listener = std::make_shared<StreamListener>(context, options, std::move(make_session), std::move(handler));
  listener->begin(address);
  return listener;
}

}  // namespace doxlab::io
