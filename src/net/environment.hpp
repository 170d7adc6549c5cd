#pragma once
/// What a reader of a measurement should know about the machine.

#include <cstdint>
#include <string>

namespace doxlab::net {

struct Environment {
  std::string kernel;        ///< "Linux 6.12.1"
  std::string architecture;  ///< "x86_64"
  std::string distribution;  ///< "Debian GNU/Linux 13 (trixie)"; empty if unknown
  std::string cpu;           ///< model name; empty if unknown
  unsigned cores = 0;        ///< that this process may use
  std::uint64_t memory_bytes = 0;
  bool virtual_machine = false;
};

Environment read_environment();

}  // namespace doxlab::net
