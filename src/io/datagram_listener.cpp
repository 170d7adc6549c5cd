#include <array>
#include <asio/ip/udp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <format>

#include "io/endpoint.hpp"
#include "io/listener.hpp"

namespace doxlab::io {
namespace {

class DatagramListener final : public Listener, public std::enable_shared_from_this<DatagramListener> {
 public:
  DatagramListener(asio::io_context& context, std::unique_ptr<transport::DatagramServer> server, QueryHandler handler)
      : socket_(context), timer_(context), linger_timer_(context), server_(std::move(server)),
        handler_(std::move(handler)) {}

  void begin(const SocketAddress& address) {
    try {
      const auto endpoint = to_udp(address);
      socket_.open(endpoint.protocol());
      if (address.ip.is_v6()) socket_.set_option(asio::ip::v6_only(true));
      socket_.bind(endpoint);
      socket_.non_blocking(true);
    } catch (const std::system_error& error) {
      throw std::system_error(from_asio(error.code()), std::format("listen on udp {}", address.to_string()));
    }
    // Bursts of many clients' first flights must fit; the kernel caps it at rmem_max.
    std::error_code ignored;
    socket_.set_option(asio::ip::udp::socket::receive_buffer_size(4 * 1024 * 1024), ignored);
    address_ = from_asio(socket_.local_endpoint());
    wait_readable();
  }

  SocketAddress address() const override { return address_; }
  std::size_t connections() const override { return 0; }

  void close(Duration linger) override {
    if (closing_) return;
    closing_ = true;
    server_->close(monotonic_now());
    service();
    linger_timer_.expires_after(linger);
    linger_timer_.async_wait([self = shared_from_this(), this](const std::error_code&) {
      closed_ = true;
      timer_.cancel();
      std::error_code ignored;
      socket_.close(ignored);
    });
  }

 private:
  void wait_readable() {
    socket_.async_wait(asio::ip::udp::socket::wait_read, [self = shared_from_this(), this](const std::error_code& error) {
      if (closed_ || error == asio::error::operation_aborted) return;
      for (int i = 0; i < 64; ++i) {
        KernelAddress from;
        from.length = sizeof from.storage;
        const auto got = ::recvfrom(socket_.native_handle(), buffer_.data(), buffer_.size(), 0, from.get(), &from.length);
        if (got < 0) {
          if (errno == EAGAIN || errno == EWOULDBLOCK) break;
          continue;  // an ICMP error of some earlier peer; others are waiting
        }
        server_->receive(address_, from_kernel(from.get()), BytesView(buffer_).first(static_cast<std::size_t>(got)),
                         monotonic_now());
        // Each datagram is answered before the next is read: its answer must not wait for the whole batch.
        serve();
      }
      arm_timer();
      wait_readable();
    });
  }

  void service() {
    serve();
    arm_timer();
  }

  void serve() {
    const auto now = monotonic_now();
    while (auto query = server_->poll_query()) {
      const auto answer = handler_(*query);
      server_->answer(query->handle, answer, now);
    }
    while (auto output = server_->poll_output(now)) {
      const auto to = to_kernel(output->peer);
      // What the kernel refuses (full buffer, unreachable) is loss, which every datagram transport survives.
      (void)::sendto(socket_.native_handle(), output->payload.data(), output->payload.size(), 0, to.get(), to.length);
    }
  }

  void arm_timer() {
    const auto due = server_->next_timeout();
    if (!due) {
      if (armed_) timer_.cancel();
      armed_.reset();
      return;
    }
    if (armed_ == due) return;
    armed_ = due;
    timer_.expires_at(*due);
    timer_.async_wait([self = shared_from_this(), this](const std::error_code& error) {
      if (error || closed_) return;
      armed_.reset();
      server_->on_timeout(monotonic_now());
      service();
    });
  }

  asio::ip::udp::socket socket_;
  asio::steady_timer timer_, linger_timer_;
  std::optional<Timestamp> armed_;
  std::unique_ptr<transport::DatagramServer> server_;
  QueryHandler handler_;
  SocketAddress address_;
  bool closing_ = false, closed_ = false;
  std::array<std::uint8_t, 65536> buffer_;
};

}  // namespace

std::shared_ptr<Listener> listen_datagram(asio::io_context& context, const SocketAddress& address,
                                          std::unique_ptr<transport::DatagramServer> server, QueryHandler handler) {
  auto listener = std::make_shared<DatagramListener>(context, std::move(server), std::move(handler));
  listener->begin(address);
  return listener;
}

}  // namespace doxlab::io
