#include "io/client_pump.hpp"

#include <netinet/tcp.h>

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <format>
#include <span>
#include <utility>

#include "io/endpoint.hpp"
#include "net/arrival_time.hpp"

namespace doxlab::io {
namespace {

using transport::ClientSession;
using transport::Closed;

/// What stream and datagram pumps share: the session, its timer and its events.
class PumpBase : public ClientPump, public std::enable_shared_from_this<PumpBase> {
 public:
  PumpBase(asio::io_context& context, std::unique_ptr<ClientSession> session, const SocketAddress& remote,
           PumpCallbacks callbacks)
      : timer_(context), linger_timer_(context), remote_(remote), session_(std::move(session)),
        callbacks_(std::move(callbacks)) {}

  transport::QueryHandle submit(BytesView query) override {
    const auto handle = session_->submit(query);
    if (started_) service();
    return handle;
  }

  void close(Duration linger) override {
    if (closing_) return;
    closing_ = true;
    callbacks_ = {};
    if (started_ && !dead_) {
      session_->close(monotonic_now());
      service();
    } else {
      end_of_session();
    }
    // The socket lives on in the handler until the linger time has passed.
    linger_timer_.expires_after(linger);
    linger_timer_.async_wait([self = shared_from_this()](const std::error_code&) { self->shut(); });
  }

 protected:
  virtual void flush() = 0;
  virtual void end_of_session() {}
  virtual void close_socket() = 0;
  virtual void queue_output(Bytes&& output) = 0;

  /// Takes whatever the session wants done: output, events, next timer. Handlers may submit or close from
  /// inside; that is served by another turn of the loop.
  void service() {
    if (in_service_) {
      again_ = true;
      return;
    }
    in_service_ = true;
    do {
      again_ = false;
      const auto now = monotonic_now();
      while (auto output = session_->poll_output(now)) queue_output(std::move(*output));
      flush();
      while (auto event = session_->poll_event()) {
        again_ = true;  // a handler may have submitted or the session may answer an event
        deliver(std::move(*event));
      }
    } while (again_ && !dead_);
    in_service_ = false;
    if (closing_ && !std::exchange(session_ended_, true)) end_of_session();
    arm_timer();
  }

  void deliver(transport::Event&& event) {
    if (callbacks_.on_event) {
      // The handler may close the pump, which clears the callbacks under its feet: call a copy.
      const auto handler = callbacks_.on_event;
      handler(std::move(event), monotonic_now());
    }
  }

  void fail(std::string reason, bool refused = false) {
    if (dead_) return;
    dead_ = true;
    timer_.cancel();
    if (opening_) {
      asio::post(timer_.get_executor(), [self = shared_from_this(), refused, reason = std::move(reason)]() mutable {
        self->deliver(Closed{false, std::move(reason), refused});
      });
    } else {
      deliver(Closed{false, std::move(reason), refused});
    }
  }

  /// Starts the session inside open(): what it sends goes out at once, what it says waits for the next turn
  /// of the event loop, because the caller does not have the pump yet.
  void start_inside_open() {
    opening_ = true;
    started_ = true;
    const auto now = monotonic_now();
    session_->start(now);
    while (auto output = session_->poll_output(now)) queue_output(std::move(*output));
    flush();
    opening_ = false;
    if (dead_) return;
    arm_timer();
    asio::post(timer_.get_executor(), [self = shared_from_this()] {
      if (!self->dead_ && !self->shut_) self->service();
    });
  }

  void arm_timer() {
    const auto due = dead_ ? std::nullopt : session_->next_timeout();
    if (!due) {
      if (armed_) timer_.cancel();
      armed_.reset();
      return;
    }
    if (armed_ == due) return;
    armed_ = due;
    timer_.expires_at(*due);
    timer_.async_wait([self = shared_from_this()](const std::error_code& error) {
      if (error || self->dead_ || self->shut_) return;
      self->armed_.reset();
      self->session_->on_timeout(monotonic_now());
      self->service();
    });
  }

  void shut() {
    shut_ = true;
    dead_ = true;
    timer_.cancel();
    close_socket();
  }

  void watch(const std::shared_ptr<SocketWatcher>& watcher, int socket, bool is_stream, Timestamp when) {
    if (!watcher) return;
    watcher_ = watcher;
    watcher_->on_open(socket, is_stream, local_address(), when);
  }

  /// recv(2), seen by the watcher if there is one.
  ssize_t receive(int socket, std::span<std::uint8_t> buffer) {
    if (!watcher_) return ::recv(socket, buffer.data(), buffer.size(), 0);
    Timestamp when;
    const auto got = net::receive_stamped(socket, buffer, when);
    if (got >= 0) watcher_->on_received(socket, buffer.first(static_cast<std::size_t>(got)), when);
    return got;
  }

  /// send(2), likewise. A datagram without octets counts too.
  ssize_t send(int socket, BytesView octets) {
    if (!watcher_) return ::send(socket, octets.data(), octets.size(), MSG_NOSIGNAL);
    const auto when = monotonic_now();
    watcher_->on_sending(socket, when);
    const auto sent = ::send(socket, octets.data(), octets.size(), MSG_NOSIGNAL);
    const int error = errno;
    if (sent >= 0) watcher_->on_sent(socket, octets.first(static_cast<std::size_t>(sent)), when);
    errno = error;
    return sent;
  }

  asio::steady_timer timer_, linger_timer_;
  std::optional<Timestamp> armed_;
  SocketAddress remote_;
  std::unique_ptr<ClientSession> session_;
  PumpCallbacks callbacks_;
  std::shared_ptr<SocketWatcher> watcher_;
  bool started_ = false, closing_ = false, dead_ = false, shut_ = false;

 private:
  bool opening_ = false, in_service_ = false, again_ = false, session_ended_ = false;
};

class DatagramPump final : public PumpBase {
 public:
  DatagramPump(asio::io_context& context, std::unique_ptr<ClientSession> session, const SocketAddress& remote,
               PumpCallbacks callbacks)
      : PumpBase(context, std::move(session), remote, std::move(callbacks)), socket_(context) {}

  void begin(const SocketOptions& options) {
    std::error_code error;
    const auto peer = to_udp(remote_);
    socket_.open(peer.protocol(), error);
    if (!error && options.bind) socket_.bind(to_udp(*options.bind), error);
    if (!error) socket_.connect(peer, error);
    if (!error) socket_.non_blocking(true, error);
    if (error) {
      asio::post(socket_.get_executor(), [self = shared_from_this(), this, error] {
        fail(std::format("udp socket for {}: {}", remote_.to_string(), error.message()));
      });
      return;
    }
    if (options.watcher) net::enable_arrival_times(socket_.native_handle());
    watch(options.watcher, socket_.native_handle(), false, monotonic_now());
    start_inside_open();
    wait_readable();
  }

  SocketAddress local_address() const override {
    std::error_code ignored;
    return from_asio(socket_.local_endpoint(ignored));
  }

 private:
  void queue_output(Bytes&& output) override {
    if (dead_) return;
    if (send(socket_.native_handle(), output) >= 0) return;
    // A full buffer is loss, which every datagram transport must survive; ICMP errors are handled on receipt.
    if (errno == ECONNREFUSED) refused();
    else if (errno != EAGAIN && errno != ENOBUFS && errno != EWOULDBLOCK)
      fail(std::format("send to {}: {}", remote_.to_string(), std::strerror(errno)));
  }

  void flush() override {}

  void wait_readable() {
    socket_.async_wait(asio::ip::udp::socket::wait_read, [self = shared_from_this(), this](const std::error_code& error) {
      if (error || shut_) return;
      // A bounded batch, then timers and other sockets get their turn.
      for (int i = 0; i < 64; ++i) {
        const auto got = receive(socket_.native_handle(), buffer_);
        if (got < 0) {
          if (errno == ECONNREFUSED) refused();
          break;
        }
        heard_ = true;
        if (!dead_) session_->receive(BytesView(buffer_).first(static_cast<std::size_t>(got)), monotonic_now());
      }
      if (!dead_) service();
      if (!shut_) wait_readable();
    });
  }

  /// ICMP can be forged and can be transient, so it only counts before the peer has ever spoken.
  void refused() {
    if (!heard_)
      fail(std::format("{}: nothing listens on this UDP port (ICMP port unreachable)", remote_.to_string()), true);
  }

  void close_socket() override {
    if (watcher_ && socket_.is_open()) watcher_->on_close(socket_.native_handle());
    std::error_code ignored;
    socket_.close(ignored);
  }

  asio::ip::udp::socket socket_;
  bool heard_ = false;
  std::array<std::uint8_t, 65536> buffer_;
};

class StreamPump final : public PumpBase {
 public:
  StreamPump(asio::io_context& context, std::unique_ptr<ClientSession> session, const SocketAddress& remote,
             PumpCallbacks callbacks)
      : PumpBase(context, std::move(session), remote, std::move(callbacks)), socket_(context) {}

  void begin(const SocketOptions& options) {
    std::error_code error;
    const auto peer = to_tcp(remote_);
    socket_.open(peer.protocol(), error);
    if (!error && options.bind) {
      socket_.set_option(asio::ip::tcp::socket::reuse_address(true), error);
      if (!error) socket_.bind(to_tcp(*options.bind), error);
    }
    if (!error) socket_.set_option(asio::ip::tcp::no_delay(true), error);
    if (!error && !options.congestion_control.empty() &&
        ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_CONGESTION, options.congestion_control.data(),
                     static_cast<socklen_t>(options.congestion_control.size())) != 0)
      error = std::error_code(errno, std::generic_category());
    if (const int on = 1; !error && options.fast_open &&
                          ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) != 0)
      error = std::error_code(errno, std::generic_category());
    if (error) {
      asio::post(socket_.get_executor(), [self = shared_from_this(), this, error] {
        fail(std::format("tcp socket for {}: {}", remote_.to_string(), error.message()));
      });
      return;
    }
    if (options.watcher) net::enable_arrival_times(socket_.native_handle());
    const auto begin = monotonic_now();
    socket_.async_connect(peer, [self = shared_from_this(), this](const std::error_code& failed) {
      if (dead_ || shut_) return;
      if (failed) {
        fail(std::format("connect to {}: {}", remote_.to_string(), failed.message()), true);
        return;
      }
      const auto now = monotonic_now();
      // With a Fast Open cookie nothing has been sent yet: the SYN goes with the first bytes (RFC 7413 §4.2).
      if (is_established()) tell_connected(now);
      if (closing_) return;
      std::error_code ignored;
      socket_.non_blocking(true, ignored);
      started_ = true;
      session_->start(now);
      service();
      wait_readable();
    });
    // The SYN is on its way, so that the address is known.
    watch(options.watcher, socket_.native_handle(), true, begin);
  }

  SocketAddress local_address() const override {
    std::error_code ignored;
    return from_asio(socket_.local_endpoint(ignored));
  }

 private:
  void queue_output(Bytes&& output) override { unsent_.insert(unsent_.end(), output.begin(), output.end()); }

  void flush() override {
    while (!unsent_.empty() && !waiting_writable_) {
      const auto sent = send(socket_.native_handle(), unsent_);
      if (sent > 0) {
        unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS) {  // the last with Fast Open
        waiting_writable_ = true;
        socket_.async_wait(asio::ip::tcp::socket::wait_write, [self = shared_from_this(), this](const std::error_code& error) {
          waiting_writable_ = false;
          if (!error && !shut_) flush();
        });
      } else if (errno != EINTR) {
        unsent_.clear();
        fail(std::format("send to {}: {}", remote_.to_string(), std::strerror(errno)));
        return;
      }
    }
    if (unsent_.empty() && half_close_wanted_) {
      half_close_wanted_ = false;
      std::error_code ignored;
      socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }
  }

  void end_of_session() override {
    half_close_wanted_ = true;
    if (started_ && !dead_) flush();
    else if (!started_) close_socket();  // still connecting: give up at once
  }

  void wait_readable() {
    socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this(), this](const std::error_code& error) {
      if (error || shut_) return;
      if (watcher_) watcher_->on_readable(socket_.native_handle());
      for (int i = 0; i < 16; ++i) {
        const auto got = receive(socket_.native_handle(), buffer_);
        if (got > 0) {
          if (!connected_) tell_connected(monotonic_now());
          if (!dead_ && !closing_) session_->receive(BytesView(buffer_).first(static_cast<std::size_t>(got)), monotonic_now());
          continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got < 0 && errno == EINTR) continue;
        end_of_stream(got < 0 ? errno : 0);
        return;
      }
      if (!dead_ && !closing_) service();
      if (!shut_) wait_readable();
    });
  }

  bool is_established() {
    tcp_info info{};
    socklen_t length = sizeof info;
    return ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           info.tcpi_state == TCP_ESTABLISHED;
  }

  void tell_connected(Timestamp now) {
    connected_ = true;
    if (watcher_) watcher_->on_connected(socket_.native_handle(), now);
    if (callbacks_.on_connected) callbacks_.on_connected(now);
  }

  void end_of_stream(int error) {
    if (dead_ || closing_) return;
    if (error != 0) {
      fail(std::format("receive from {}: {}", remote_.to_string(), std::strerror(error)));
      return;
    }
    session_->receive_end(monotonic_now());
    service();
  }

  void close_socket() override {
    if (watcher_ && socket_.is_open()) watcher_->on_close(socket_.native_handle());
    std::error_code ignored;
    socket_.close(ignored);
  }

  asio::ip::tcp::socket socket_;
  Bytes unsent_;
  bool connected_ = false, waiting_writable_ = false, half_close_wanted_ = false;
  std::array<std::uint8_t, 32768> buffer_;
};

}  // namespace

std::shared_ptr<ClientPump> ClientPump::open(asio::io_context& context, bool stream,
                                             std::unique_ptr<ClientSession> session, const SocketAddress& remote,
                                             const SocketOptions& options, PumpCallbacks callbacks) {
  if (stream) {
    auto pump = std::make_shared<StreamPump>(context, std::move(session), remote, std::move(callbacks));
    pump->begin(options);
    return pump;
  }
  auto pump = std::make_shared<DatagramPump>(context, std::move(session), remote, std::move(callbacks));
  pump->begin(options);
  return pump;
}

}  // namespace doxlab::io
