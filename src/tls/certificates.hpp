#pragma once
/// Loads PEM text into OpenSSL objects. Private to the room.

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string_view>
#include <vector>

namespace doxlab::tls::internal {

struct X509Deleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct PkeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using X509Ptr = std::unique_ptr<X509, X509Deleter>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, PkeyDeleter>;
using BioPtr = std::unique_ptr<BIO, BioDeleter>;

/// All certificates of a PEM text, in its order. Throws std::runtime_error if there is none or one is broken.
std::vector<X509Ptr> parse_certificates(std::string_view pem);

/// Makes the certificates of `pem` the trust anchors; empty: the system's. Throws std::runtime_error.
void load_roots(SSL_CTX* context, std::string_view pem);

/// Loads the server's chain (leaf first) and key, and checks that they belong together. Throws.
void load_identity(SSL_CTX* context, std::string_view chain_pem, std::string_view key_pem);

}  // namespace doxlab::tls::internal
