// What ngtcp2 calls. Nothing may be thrown through a C library: what fails is told by its return code.

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>
#include <exception>

#include "quic/connection_state.hpp"

namespace doxlab::quic::internal {

struct Callbacks {
  static ConnectionState& state(void* user_data) { return *static_cast<ConnectionState*>(user_data); }

  template <class Body>
  static int guarded(Body&& body) noexcept {
    try {
      return body();
    } catch (const std::exception&) {
      return NGTCP2_ERR_CALLBACK_FAILURE;
    }
  }

  static int recv_stream_data(ngtcp2_conn*, std::uint32_t flags, std::int64_t id, std::uint64_t,
                              const std::uint8_t* data, std::size_t length, void* user_data, void*) {
    return guarded([&] {
      state(user_data).push_stream_data({.id = id,
                                         .data = data != nullptr ? Bytes(data, data + length) : Bytes(),
                                         .fin = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0,
                                         .early = (flags & NGTCP2_STREAM_DATA_FLAG_0RTT) != 0});
      return 0;
    });
  }

  static int acked_stream_data_offset(ngtcp2_conn*, std::int64_t id, std::uint64_t offset,
                                      std::uint64_t length, void* user_data, void*) {
    auto& streams = state(user_data).streams_;
    if (const auto found = streams.find(id); found != streams.end())
      found->second.output.acknowledge(offset + length);
    return 0;
  }

  static int stream_open(ngtcp2_conn*, std::int64_t id, void* user_data) {
    return guarded([&] {
      state(user_data).stream(id);
      return 0;
    });
  }

  static int stream_close(ngtcp2_conn* conn, std::uint32_t flags, std::int64_t id, std::uint64_t code,
                          void* user_data, void*) {
    return guarded([&] {
      ConnectionState& self = state(user_data);
      const auto found = self.streams_.find(id);
      const bool known = found != self.streams_.end();
      if (known) {
        // ngtcp2 does not tell when STOP_SENDING arrives; a stream that dies with a code that neither
        // RESET_STREAM brought nor this end chose was stopped by the peer.
        ConnectionState::Stream& stream = found->second;
        if ((flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0 && !stream.reset_received &&
            !stream.reset_code && !stream.stop_code) {
          self.report_stop_sending(id, stream, code);
        }
        self.streams_.erase(found);
      }
      self.events_.push_back(StreamClosed{id});
      // A place for another stream, once this one is gone from memory.
      if (known && !self.is_local(id)) {
        if (ngtcp2_is_bidi_stream(id) != 0) {
          ngtcp2_conn_extend_max_streams_bidi(conn, 1);
        } else {
          ngtcp2_conn_extend_max_streams_uni(conn, 1);
        }
      }
      return 0;
    });
  }

  static int stream_reset(ngtcp2_conn*, std::int64_t id, std::uint64_t, std::uint64_t code, void* user_data,
                          void*) {
    return guarded([&] {
      ConnectionState& self = state(user_data);
      self.stream(id).reset_received = true;
      self.events_.push_back(StreamReset{id, code});
      return 0;
    });
  }

  static int extend_max_stream_data(ngtcp2_conn*, std::int64_t id, std::uint64_t, void* user_data, void*) {
    return guarded([&] {
      ConnectionState& self = state(user_data);
      if (const auto found = self.streams_.find(id); found != self.streams_.end()) {
        found->second.blocked = false;
        self.enqueue(id, found->second);
      }
      return 0;
    });
  }

  static int streams_available(ngtcp2_conn*, std::uint64_t, void* user_data) {
    return guarded([&] {
      state(user_data).events_.push_back(StreamsAvailable{});
      return 0;
    });
  }

  static int handshake_completed(ngtcp2_conn*, void* user_data) {
    return guarded([&] {
      state(user_data).on_handshake_completed();
      return 0;
    });
  }

  static int recv_retry(ngtcp2_conn* conn, const ngtcp2_pkt_hd* header, void* user_data) {
    return guarded([&] {
      if (const int rv = ngtcp2_crypto_recv_retry_cb(conn, header, user_data); rv != 0) return rv;
      state(user_data).events_.push_back(RetryReceived{});
      return 0;
    });
  }

  static int recv_new_token(ngtcp2_conn*, const std::uint8_t* token, std::size_t length, void* user_data) {
    return guarded([&] {
      state(user_data).events_.push_back(TokenReceived{Bytes(token, token + length)});
      return 0;
    });
  }

  static int recv_stateless_reset(ngtcp2_conn*, const ngtcp2_pkt_stateless_reset2*, void* user_data) {
    state(user_data).stateless_reset_ = true;
    return 0;
  }

  static void rand(std::uint8_t* out, std::size_t length, const ngtcp2_rand_ctx*) {
    // The callback cannot fail. What it gives is not used as a secret.
    if (!fill_random({out, length})) std::fill_n(out, length, std::uint8_t{0});
  }

  static int get_new_connection_id(ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                                   std::size_t length, void* user_data) {
    return guarded([&] {
      ConnectionState& self = state(user_data);
      *id = random_connection_id(length);
      if (self.hooks_ == nullptr) return fill_random(token->data) ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
      if (!self.hooks_->make_reset_token(*id, *token)) return NGTCP2_ERR_CALLBACK_FAILURE;
      self.hooks_->id_issued(self.key_, *id);
      return 0;
    });
  }

  static int remove_connection_id(ngtcp2_conn*, const ngtcp2_cid* id, void* user_data) {
    return guarded([&] {
      ConnectionState& self = state(user_data);
      if (self.hooks_ != nullptr) self.hooks_->id_retired(self.key_, *id);
      return 0;
    });
  }
};

ngtcp2_callbacks make_callbacks(bool server) {
  ngtcp2_callbacks table{};
  if (server) {
    table.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  } else {
    table.client_initial = ngtcp2_crypto_client_initial_cb;
    table.recv_retry = Callbacks::recv_retry;
    table.recv_new_token = Callbacks::recv_new_token;
  }
  table.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  table.encrypt = ngtcp2_crypto_encrypt_cb;
  table.decrypt = ngtcp2_crypto_decrypt_cb;
  table.hp_mask = ngtcp2_crypto_hp_mask_cb;
  table.update_key = ngtcp2_crypto_update_key_cb;
  table.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
  table.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  table.get_path_challenge_data2 = ngtcp2_crypto_get_path_challenge_data2_cb;
  table.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  table.rand = Callbacks::rand;
  table.get_new_connection_id2 = Callbacks::get_new_connection_id;
  table.remove_connection_id = Callbacks::remove_connection_id;
  table.recv_stream_data = Callbacks::recv_stream_data;
  table.acked_stream_data_offset = Callbacks::acked_stream_data_offset;
  table.stream_open = Callbacks::stream_open;
  table.stream_close = Callbacks::stream_close;
  table.stream_reset = Callbacks::stream_reset;
  table.extend_max_stream_data = Callbacks::extend_max_stream_data;
  table.extend_max_local_streams_bidi = Callbacks::streams_available;
  table.extend_max_local_streams_uni = Callbacks::streams_available;
  table.handshake_completed = Callbacks::handshake_completed;
  table.recv_stateless_reset2 = Callbacks::recv_stateless_reset;
  return table;
}

}  // namespace doxlab::quic::internal
