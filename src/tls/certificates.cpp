#include "tls/certificates.hpp"

#include <openssl/err.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tls/ssl_state.hpp"

namespace doxlab::tls::internal {
namespace {

BioPtr borrow(std::string_view text) {
  BioPtr bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw_openssl("memory for PEM text");
  return bio;
}

// Eagerly loads a bundle file: a hashed folder would be read during the first handshake, inside what is
// measured. The places are those of the common distributions, because a static binary's built-in one may
// not exist on the machine it runs on.
bool load_system_bundle(X509_STORE* store) {
  const char* from_environment = std::getenv(X509_get_default_cert_file_env());
  const std::array<const char*, 5> candidates = {
      from_environment != nullptr ? from_environment : X509_get_default_cert_file(),
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem"};
  for (const char* path : candidates) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && X509_STORE_load_file(store, path) == 1) return true;
  }
  ERR_clear_error();
  return false;
}

}  // namespace

std::vector<X509Ptr> parse_certificates(std::string_view pem) {
  const BioPtr bio = borrow(pem);
  std::vector<X509Ptr> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The end of the text shows as "no start line"; anything else is a broken certificate.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) throw_openssl("certificate in PEM text");
  ERR_clear_error();
  if (certificates.empty()) throw std::runtime_error("no certificate in the PEM text");
  return certificates;
}

void load_roots(SSL_CTX* context, std::string_view pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  if (!pem.empty()) {
    for (const X509Ptr& root : parse_certificates(pem)) {
      if (X509_STORE_add_cert(store, root.get()) != 1) throw_openssl("trust anchor");
    }
    return;
  }
  if (!load_system_bundle(store) && SSL_CTX_set_default_verify_paths(context) != 1) {
    throw_openssl("the system's trust store");
  }
}

void load_identity(SSL_CTX* context, std::string_view chain_pem, std::string_view key_pem) {
  const std::vector<X509Ptr> chain = parse_certificates(chain_pem);
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) throw_openssl("server certificate");
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) throw_openssl("intermediate certificate");
  }
  const PkeyPtr key(PEM_read_bio_PrivateKey(borrow(key_pem).get(), nullptr, nullptr, nullptr));
  if (!key) throw_openssl("server key");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    throw_openssl("server key does not belong to the certificate");
  }
}

}  // namespace doxlab::tls::internal
