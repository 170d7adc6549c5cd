#include "key_log_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <format>
#include <memory>
#include <print>
#include <stdexcept>
#include <string>
#include <utility>

#include "net/file_descriptor.hpp"

namespace doxlab::app {
namespace {

constexpr const char* kVariable = "SSLKEYLOGFILE";

class KeyLogFile {
 public:
  explicit KeyLogFile(const char* path)
      : path_(path), fd_(::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (!fd_) throw std::runtime_error(std::format("{} {}: {}", kVariable, path_, std::strerror(errno)));
  }

  void add(std::string_view line) {
    // In one write, so that programs that share the file do not mix their lines.
    const auto text = std::string(line) + '\n';
    if (::write(fd_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
    if (!has_failed_.exchange(true))
      std::println(stderr, "doxlab: {} {}: secrets are missing: {}", kVariable, path_, std::strerror(errno));
  }

 private:
  std::string path_;
  net::FileDescriptor fd_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace

tls::KeyLog key_log_of_environment() {
  const char* path = ::secure_getenv(kVariable);
  if (path == nullptr || *path == '\0') return {};
  static const auto file = std::make_shared<KeyLogFile>(path);
  return [to = file](std::string_view line) { to->add(line); };
}

}  // namespace doxlab::app
