#include "net/private_files.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <format>

#include "net/file_descriptor.hpp"

namespace doxlab::net {
namespace {

/// Where a file system in memory is put for as long as the files are made: folders that exist and through
/// which no path of a system file leads.
constexpr const char* kScratchFolders[] = {"/tmp", "/dev/shm", "/mnt"};

std::unexpected<Error> failed(const std::string& attempt) {
  return fail(std::format("{}: {}", attempt, std::strerror(errno)));
}

/// A file system in memory over a folder, in this thread's view alone. What was mounted out of it stays.
class Scratch {
 public:
  Scratch() {
    for (const char* folder : kScratchFolders) {
      if (::mount("doxlab", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755") < 0) continue;
      folder_ = folder;
      return;
    }
  }
  ~Scratch() {
    if (folder_ != nullptr) ::umount2(folder_, MNT_DETACH);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  explicit operator bool() const { return folder_ != nullptr; }
  std::string path(const std::string& name) const { return std::format("{}/{}", folder_, name); }

 private:
  const char* folder_ = nullptr;
};

Result<void> write_file(const std::string& path, const std::string& content) {
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd || ::fchmod(fd.get(), 0644) < 0) return failed("make a file in memory");
  std::size_t written = 0;
  while (written < content.size()) {
    const auto count = ::write(fd.get(), content.data() + written, content.size() - written);
    if (count < 0) return failed("write a file in memory");
    written += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace

Result<void> show_private_files(std::span<const PrivateFile> files) {
  if (::unshare(CLONE_NEWNS) < 0) return failed("make a mount namespace");
  // Else what is mounted below might appear outside as well.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) return failed("separate the mounts");
  const Scratch scratch;
  if (!scratch) return failed("mount a file system in memory");
  int number = 0;
  for (const auto& file : files) {
    const auto source = scratch.path(std::to_string(number++));
    if (const auto made = write_file(source, file.content); !made) return made;
    if (::mount(source.c_str(), file.path.c_str(), nullptr, MS_BIND, nullptr) < 0)
      return failed("mount over " + file.path);
  }
  return {};
}

}  // namespace doxlab::net
