#pragma once
/// The certificate forge: a root, an intermediate and a leaf of a requested total size, so that the
/// certificate flight can be varied byte by byte. For the lab and for tests, never for the internet.

#include <string>
#include <vector>

#include "base/address.hpp"

namespace doxlab::tls {

enum class KeyType : std::uint8_t { EcdsaP256, Rsa2048 };

struct ChainOptions {
  /// DER bytes of leaf plus intermediate, what the Certificate message carries. 3,900 is about what the
  /// published measurement's server sent. Reached exactly by an extension of random (incompressible)
  /// octets in the leaf; smaller than the bare chain: the intermediate is left out and the leaf is signed
  /// by the root; smaller than a bare leaf: an error that names the minimum.
  std::size_t chain_bytes = 3900;
  KeyType key = KeyType::EcdsaP256;
  std::vector<std::string> dns_names = {"dns.doxlab.test"};
  std::vector<IpAddress> addresses;   ///< iPAddress subject alternative names
  int valid_from_days = -1;           ///< relative to today; tests make expired certificates with it
  int valid_to_days = 30;
};

struct Chain {
  std::string root_pem;    ///< the trust anchor for clients
  std::string chain_pem;   ///< leaf first, then the intermediate if there is one
  std::string key_pem;     ///< the leaf's private key
  std::size_t chain_bytes = 0;  ///< DER bytes of what chain_pem holds
};

/// Errors: std::runtime_error when the size cannot be reached or OpenSSL refuses.
Chain forge_chain(const ChainOptions& options);

}  // namespace doxlab::tls
