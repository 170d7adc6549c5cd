#pragma once
/// The bytes of one stream from write() until the peer has acknowledged them. ngtcp2 keeps pointers into
/// them for retransmission, so they stay where they are until then. Private to the room.

#include <ngtcp2/ngtcp2.h>

#include <cstdint>
#include <deque>
#include <span>

#include "base/bytes.hpp"

namespace doxlab::quic::internal {

class SendBuffer {
 public:
  /// Queues bytes; ignored after `fin`.
  void append(BytesView data, bool fin);

  /// Something to hand to ngtcp2: bytes, or the end of the stream.
  bool has_pending() const { return sent_ < end_ || (fin_ && !fin_sent_); }

  struct Unsent {
    std::size_t pieces = 0;
    std::uint64_t bytes = 0;
    bool fin = false;  ///< these bytes reach the end of the stream
  };
  /// Points `out` at the next bytes to send.
  Unsent unsent(std::span<ngtcp2_vec> out) const;

  /// `bytes` of the last unsent() went into a packet, with the end of the stream if `fin`.
  void mark_sent(std::uint64_t bytes, bool fin);
  /// Everything before `offset` has arrived at the peer.
  void acknowledge(std::uint64_t offset);
  /// Nothing has arrived (0-RTT was rejected): all of it is unsent again.
  void rewind();

  std::uint64_t unacknowledged_bytes() const { return end_ - start_; }

 private:
  std::deque<Bytes> chunks_;
  std::uint64_t start_ = 0;  ///< stream offset of chunks_.front()
  std::uint64_t sent_ = 0;
  std::uint64_t end_ = 0;
  std::size_t sent_chunk_ = 0;     ///< where `sent_` lies: index into chunks_
  std::size_t sent_in_chunk_ = 0;  ///< and octets into that chunk
  bool fin_ = false, fin_sent_ = false;
};

}  // namespace doxlab::quic::internal
