#pragma once
/// TLS contexts for tests, over chains that are forged once for each size.

#include <map>
#include <memory>
#include <mutex>

#include "tls/context.hpp"
#include "tls/forge.hpp"

namespace doxlab::test {

inline constexpr const char* kServerName = "dns.doxlab.test";

inline const tls::Chain& forged_chain(std::size_t bytes = 3900) {
  static std::mutex mutex;
  static std::map<std::size_t, tls::Chain> chains;
  const std::lock_guard lock(mutex);
  const auto found = chains.find(bytes);
  if (found != chains.end()) return found->second;
  tls::ChainOptions options;
  options.chain_bytes = bytes;
  options.dns_names = {kServerName};
  return chains.emplace(bytes, tls::forge_chain(options)).first->second;
}

inline tls::ServerOptions server_tls_options(const std::string& alpn, std::size_t chain_bytes = 3900) {
  tls::ServerOptions options;
  options.chain_pem = forged_chain(chain_bytes).chain_pem;
  options.key_pem = forged_chain(chain_bytes).key_pem;
  options.alpn = {alpn};
  options.max_early_data_bytes = 0xffffffff;
  return options;
}

inline tls::ClientOptions client_tls_options(std::size_t chain_bytes = 3900) {
  tls::ClientOptions options;
  options.roots_pem = forged_chain(chain_bytes).root_pem;
  options.early_data = true;
  return options;
}

}  // namespace doxlab::test
