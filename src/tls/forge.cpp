#include "tls/forge.hpp"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tls/certificates.hpp"
#include "tls/ssl_state.hpp"

namespace doxlab::tls {
namespace {

using internal::BioPtr;
using internal::PkeyPtr;
using internal::throw_openssl;
using internal::X509Ptr;

// OpenSSL's clients refuse certificate messages of more than 100 KiB.
constexpr std::size_t kMaxChainBytes = 100'000;
// Serial numbers may have up to 20 octets (RFC 5280 §4.1.2.2). Their length is the fine adjustment for sizes
// that padding alone jumps over where a DER length field grows.
constexpr std::size_t kMinSerialOctets = 16, kMaxSerialOctets = 20;
// Below the number that RFC 5612 reserves for examples, so it means nothing to anyone.
constexpr const char* kPaddingOid = "1.3.6.1.4.1.32473.53";
// What an ECDSA P-256 signature has most often in DER (70 to 72).
constexpr int kEcdsaSignatureOctets = 71;

struct Identity {
  PkeyPtr key;
  X509Ptr certificate;
};

PkeyPtr new_key(KeyType type) {
  PkeyPtr key(type == KeyType::EcdsaP256 ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048));
  if (!key) throw_openssl("new key");
  return key;
}

std::size_t der_bytes(X509* certificate) {
  const int length = i2d_X509(certificate, nullptr);
  if (length <= 0) throw_openssl("certificate encoding");
  return static_cast<std::size_t>(length);
}

Bytes random_octets(std::size_t count) {
  Bytes octets(count);
  if (count != 0 && RAND_bytes(octets.data(), static_cast<int>(count)) != 1) throw_openssl("random octets");
  return octets;
}

// `octets` long in DER: positive and without a leading zero octet.
void set_serial(X509* certificate, std::size_t octets) {
  Bytes serial = random_octets(octets);
  serial.front() = static_cast<std::uint8_t>((serial.front() & 0x7F) | 0x40);
  BIGNUM* number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  if (!set) throw_openssl("serial number");
}

void set_name(X509_NAME* name, const std::string& common_name) {
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0) != 1) {
    throw_openssl("certificate name");
  }
}

void add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  if (!added) throw_openssl(std::string("extension ") + OBJ_nid2sn(nid));
}

void add_alternative_names(X509* certificate, const ChainOptions& options) {
  GENERAL_NAMES* names = GENERAL_NAMES_new();
  const auto add = [&](int type, int string_type, BytesView octets) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_STRING* text = ASN1_STRING_type_new(string_type);
    if (names == nullptr || name == nullptr || text == nullptr ||
        ASN1_STRING_set(text, octets.data(), static_cast<int>(octets.size())) != 1) {
      throw_openssl("alternative name");
    }
    GENERAL_NAME_set0_value(name, type, text);
    sk_GENERAL_NAME_push(names, name);
  };
  for (const std::string& name : options.dns_names) add(GEN_DNS, V_ASN1_IA5STRING, as_bytes(name));
  for (const IpAddress& address : options.addresses) add(GEN_IPADD, V_ASN1_OCTET_STRING, address.octets());
  const bool added = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND) == 1;
  GENERAL_NAMES_free(names);
  if (!added) throw_openssl("alternative names");
}

// Random, so that neither TLS certificate compression nor anything else makes it smaller.
void add_padding(X509* certificate, std::size_t octets) {
  const Bytes content = random_octets(octets);
  // An extension's value is itself DER (RFC 5280 §4.2): here an OCTET STRING.
  ASN1_OCTET_STRING* inner = ASN1_OCTET_STRING_new();
  ASN1_OCTET_STRING* value = ASN1_OCTET_STRING_new();
  ASN1_OBJECT* oid = OBJ_txt2obj(kPaddingOid, 1);
  unsigned char* der = nullptr;
  X509_EXTENSION* extension = nullptr;
  bool added = false;
  if (inner != nullptr && value != nullptr && oid != nullptr &&
      ASN1_OCTET_STRING_set(inner, content.data(), static_cast<int>(content.size())) == 1) {
    const int length = i2d_ASN1_OCTET_STRING(inner, &der);
    if (length > 0 && ASN1_OCTET_STRING_set(value, der, length) == 1) {
      extension = X509_EXTENSION_create_by_OBJ(nullptr, oid, 0, value);
      added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
    }
  }
  X509_EXTENSION_free(extension);
  OPENSSL_free(der);
  ASN1_OBJECT_free(oid);
  ASN1_OCTET_STRING_free(value);
  ASN1_OCTET_STRING_free(inner);
  if (!added) throw_openssl("padding extension");
}

X509Ptr new_certificate(const std::string& subject, const X509_NAME* issuer, EVP_PKEY* key, int from_days,
                        int to_days, std::size_t serial_octets) {
  X509Ptr certificate(X509_new());
  X509* c = certificate.get();
  if (c == nullptr || X509_set_version(c, X509_VERSION_3) != 1 || X509_set_pubkey(c, key) != 1) {
    throw_openssl("certificate");
  }
  set_serial(c, serial_octets);
  set_name(X509_get_subject_name(c), subject);
  if (X509_set_issuer_name(c, issuer != nullptr ? issuer : X509_get_subject_name(c)) != 1 ||
      X509_time_adj_ex(X509_getm_notBefore(c), from_days, 0, nullptr) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(c), to_days, 0, nullptr) == nullptr) {
    throw_openssl("certificate names and dates");
  }
  return certificate;
}

// ECDSA signatures vary in length; signing again until it is the usual one makes a certificate's size a
// function of its contents.
void sign(X509* certificate, EVP_PKEY* issuer_key) {
  constexpr int kAttempts = 1000;  // each hits with probability about one half
  for (int i = 0; i < kAttempts; ++i) {
    if (X509_sign(certificate, issuer_key, EVP_sha256()) <= 0) throw_openssl("certificate signature");
    const ASN1_BIT_STRING* signature = nullptr;
    X509_get0_signature(&signature, nullptr, certificate);
    if (EVP_PKEY_get_base_id(issuer_key) != EVP_PKEY_EC || ASN1_STRING_length(signature) == kEcdsaSignatureOctets) {
      return;
    }
  }
  throw std::runtime_error("no ECDSA signature of the usual length");
}

struct CaRequest {
  std::string name;
  const char* basic_constraints;
  int from_days, to_days;
};

X509Ptr ca_certificate(const CaRequest& request, EVP_PKEY* key, const Identity* issuer, std::size_t serial_octets) {
  const X509_NAME* issuer_name = issuer != nullptr ? X509_get_subject_name(issuer->certificate.get()) : nullptr;
  X509Ptr certificate =
      new_certificate(request.name, issuer_name, key, request.from_days, request.to_days, serial_octets);
  X509* issuer_certificate = issuer != nullptr ? issuer->certificate.get() : certificate.get();
  add_extension(certificate.get(), issuer_certificate, NID_basic_constraints, request.basic_constraints);
  add_extension(certificate.get(), issuer_certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate.get(), issuer_certificate, NID_subject_key_identifier, "hash");
  add_extension(certificate.get(), issuer_certificate, NID_authority_key_identifier, "keyid:always");
  sign(certificate.get(), issuer != nullptr ? issuer->key.get() : key);
  return certificate;
}

X509Ptr new_leaf(const ChainOptions& options, EVP_PKEY* key, const Identity& issuer, std::size_t serial_octets,
                 std::size_t padding) {
  X509Ptr leaf = new_certificate("doxlab server", X509_get_subject_name(issuer.certificate.get()), key,
                                 options.valid_from_days, options.valid_to_days, serial_octets);
  X509* issuer_certificate = issuer.certificate.get();
  add_extension(leaf.get(), issuer_certificate, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(leaf.get(), issuer_certificate, NID_key_usage,
                options.key == KeyType::EcdsaP256 ? "critical,digitalSignature"
                                                  : "critical,digitalSignature,keyEncipherment");
  add_extension(leaf.get(), issuer_certificate, NID_ext_key_usage, "serverAuth");
  add_extension(leaf.get(), issuer_certificate, NID_subject_key_identifier, "hash");
  add_extension(leaf.get(), issuer_certificate, NID_authority_key_identifier, "keyid:always");
  add_alternative_names(leaf.get(), options);
  add_padding(leaf.get(), padding);
  sign(leaf.get(), issuer.key.get());
  return leaf;
}

// A leaf of exactly `target` octets; null if there is none of this size (not below the smallest leaf only where
// a length field grows: no DER structure has 65,540 octets, for example).
X509Ptr leaf_of_size(const ChainOptions& options, EVP_PKEY* key, const Identity& issuer, std::size_t target) {
  for (std::size_t serial = kMinSerialOctets; serial <= kMaxSerialOctets; ++serial) {
    std::size_t padding = 0;
    // Each round corrects by what is missing; as length fields grow it overshoots by a few octets and comes
    // back, or alternates around a size that this serial number cannot reach.
    for (int round = 0; round < 6; ++round) {
      X509Ptr leaf = new_leaf(options, key, issuer, serial, padding);
      const std::size_t size = der_bytes(leaf.get());
      if (size == target) return leaf;
      if (size > target && padding < size - target) break;
      padding = padding + target - size;
    }
  }
  return nullptr;
}

std::string to_pem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) throw_openssl("certificate as PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(length)};
}

std::string to_pem(EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    throw_openssl("key as PEM");
  }
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(length)};
}

// Clients that keep issuers by name must not mix up two forges.
std::string random_tag() { return to_hex(random_octets(4)); }

}  // namespace

Chain forge_chain(const ChainOptions& options) {
  if (options.dns_names.empty() && options.addresses.empty()) {
    throw std::runtime_error("a certificate needs a name or an address");
  }
  if (options.chain_bytes > kMaxChainBytes) {
    throw std::runtime_error("a chain of " + std::to_string(options.chain_bytes) + " octets is over the maximum of " +
                             std::to_string(kMaxChainBytes));
  }
  // The authorities stay valid around the leaf, so that an expired leaf fails for its own dates.
  const int ca_from = std::min(options.valid_from_days, -1) - 1;
  const int ca_to = std::max(options.valid_to_days, 30) + 1;
  const std::string tag = random_tag();
  Identity root{new_key(options.key), nullptr};
  root.certificate =
      ca_certificate({"doxlab root " + tag, "critical,CA:TRUE", ca_from, ca_to}, root.key.get(), nullptr, kMinSerialOctets);
  Identity intermediate{new_key(options.key), nullptr};
  const CaRequest intermediate_request{"doxlab intermediate " + tag, "critical,CA:TRUE,pathlen:0", ca_from, ca_to};
  const PkeyPtr key = new_key(options.key);
  const auto smallest_leaf = [&](const Identity& issuer) {
    return der_bytes(new_leaf(options, key.get(), issuer, kMinSerialOctets, 0).get());
  };

  // The intermediate's own serial number shifts the leaf away from sizes that no certificate has.
  X509Ptr leaf;
  bool has_intermediate = true;
  for (std::size_t serial = kMinSerialOctets; !leaf && serial <= kMaxSerialOctets && has_intermediate; ++serial) {
    intermediate.certificate = ca_certificate(intermediate_request, intermediate.key.get(), &root, serial);
    const std::size_t intermediate_bytes = der_bytes(intermediate.certificate.get());
    if (options.chain_bytes < intermediate_bytes + smallest_leaf(intermediate)) {
      has_intermediate = false;
    } else {
      leaf = leaf_of_size(options, key.get(), intermediate, options.chain_bytes - intermediate_bytes);
    }
  }
  if (!leaf) {
    has_intermediate = false;
    if (const std::size_t minimum = smallest_leaf(root); options.chain_bytes < minimum) {
      throw std::runtime_error("a chain of " + std::to_string(options.chain_bytes) +
                               " octets is below the minimum of " + std::to_string(minimum) + " for these names");
    }
    leaf = leaf_of_size(options, key.get(), root, options.chain_bytes);
  }
  if (!leaf) {
    throw std::runtime_error("a chain of " + std::to_string(options.chain_bytes) + " octets cannot be made");
  }

  Chain chain;
  chain.root_pem = to_pem(root.certificate.get());
  chain.chain_pem = to_pem(leaf.get());
  if (has_intermediate) chain.chain_pem += to_pem(intermediate.certificate.get());
  chain.key_pem = to_pem(key.get());
  chain.chain_bytes = der_bytes(leaf.get()) + (has_intermediate ? der_bytes(intermediate.certificate.get()) : 0);
  return chain;
}

}  // namespace doxlab::tls
