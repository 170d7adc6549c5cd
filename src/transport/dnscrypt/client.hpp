#pragma once
/// The client session of DNSCrypt over UDP and TCP; see make_dnscrypt_client.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dnscrypt/padding.hpp"
#include "transport/dnscrypt/dnscrypt.hpp"
#include "transport/framing/framing.hpp"

namespace doxlab::transport {

class DnscryptClient final : public ClientSession {
 public:
  /// `provider_name` in wire form.
  DnscryptClient(DnscryptClientOptions options, Bytes provider_name, bool tcp);

  QueryHandle submit(BytesView query) override;
  void start(Timestamp now) override;
  void receive(BytesView input, Timestamp now) override;
  void receive_end(Timestamp now) override;
  std::optional<Timestamp> next_timeout() const override;
  void on_timeout(Timestamp now) override;
  std::optional<Bytes> poll_output(Timestamp now) override;
  std::optional<Event> poll_event() override;
  void close(Timestamp now) override;

  /// Messages that answered nothing or did not verify.
  std::uint64_t dropped() const { return dropped_; }

 private:
  /// A certificate in use, and what the client's key pair makes of it.
  struct Channel {
    dnscrypt::Certificate certificate;
    std::shared_ptr<const dnscrypt::SharedKey> key;
    Timestamp checked;  // when the server last said that there is none newer
  };
  struct Unsent {
    QueryHandle handle;
    Bytes query;
  };
  struct Open {
    QueryHandle handle;
    Bytes query, packet;
    std::shared_ptr<const dnscrypt::SharedKey> key;  // of its certificate, which may since have been replaced
  };
  struct Sent {
    dnscrypt::HalfNonce nonce{};
    Timestamp due;
  };

  bool is_usable(Timestamp now) const;
  bool wants_certificates(Timestamp now) const;
  Result<void> adopt(dnscrypt::Certificate certificate, bool known, Timestamp now);
  void receive_message(BytesView message, Timestamp now);
  bool receive_certificates(BytesView message, Timestamp now);
  bool receive_response(BytesView packet);
  std::optional<Bytes> send_certificate_query(Timestamp now);
  Bytes send_query(Unsent query, Timestamp now);
  Bytes on_wire(Bytes packet) const { return tcp_ ? frame(packet) : std::move(packet); }
  bool retransmits() const { return !tcp_ && options_.retransmission > Duration::zero(); }
  void end(const std::string& query_reason, Closed closed);

  DnscryptClientOptions options_;
  Bytes provider_name_;
  bool tcp_;
  dnscrypt::KeyPair keys_;  // of this session alone, so that the server cannot link sessions
  std::optional<Channel> channel_;
  Bytes certificate_query_;  // while its answer is awaited
  Timestamp certificate_sent_;
  std::optional<Timestamp> certificate_due_;  // to send it again
  bool certificate_resend_ = false;
  std::size_t min_query_octets_;
  std::deque<Unsent> unsent_;
  std::map<dnscrypt::HalfNonce, Open> open_;
  std::deque<Sent> sent_;  // in order of due, since the interval is one and the same
  std::deque<dnscrypt::HalfNonce> resend_;
  std::deque<Event> events_;
  MessageReader reader_;
  std::uint64_t last_handle_ = 0;
  std::uint64_t dropped_ = 0;
  bool started_ = false, ended_ = false;
};

}  // namespace doxlab::transport
