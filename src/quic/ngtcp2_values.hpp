#pragma once
/// Small bridges between doxlab's values and ngtcp2's. Private to the room.

#include <ngtcp2/ngtcp2.h>

#include <cstdint>
#include <span>

#include "base/address.hpp"
#include "base/bytes.hpp"

namespace doxlab::quic::internal {

/// Length of the connection IDs that doxlab gives out. Eight octets cannot be guessed and cost little in
/// every packet.
inline constexpr std::size_t kConnectionIdBytes = 8;

/// Prepares ngtcp2's use of OpenSSL (once) and checks that it worked.
/// Errors: std::runtime_error.
void initialize_library();

/// Fills from the operating system's generator. Returns false if OpenSSL has no randomness to give.
[[nodiscard]] bool fill_random(std::span<std::uint8_t> out);

/// A connection ID of random octets. Errors: std::runtime_error without randomness.
ngtcp2_cid random_connection_id(std::size_t length = kConnectionIdBytes);

inline Bytes to_bytes(const ngtcp2_cid& id) {
  return {id.data, id.data + id.datalen};
}

/// An ngtcp2_path with the storage it points to. Not movable, since it points into itself.
class PathValue {
 public:
  PathValue(const SocketAddress& local, const SocketAddress& remote)
      : local_(to_kernel(local)),
        remote_(to_kernel(remote)),
        path_{.local = {local_.get(), local_.length},
              .remote = {remote_.get(), remote_.length},
              .user_data = nullptr} {}
  PathValue(const PathValue&) = delete;
  PathValue& operator=(const PathValue&) = delete;

  const ngtcp2_path* get() const { return &path_; }

 private:
  KernelAddress local_, remote_;
  ngtcp2_path path_;
};

}  // namespace doxlab::quic::internal
