#include "net/private_folder.hpp"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <format>

namespace doxlab::net {
namespace {

/// Folders that every machine has and where nobody keeps a program.
constexpr const char* kMountPoints[] = {"/dev/shm", "/mnt", "/tmp"};

std::unexpected<Error> step_failed(const char* attempt) {
  return fail(std::format("{}: {}", attempt, std::strerror(errno)));
}

}  // namespace

Result<std::string> make_private_folder() {
  if (::unshare(CLONE_NEWNS) < 0) return step_failed("make a mount namespace");
  // Else what is mounted below might appear outside as well.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) < 0) return step_failed("separate the mounts");
  for (const char* folder : kMountPoints)
    if (::mount("doxlab", folder, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700") == 0) return folder;
  return step_failed("mount a file system in memory");
}

Result<void> show_file_at(const std::string& target, const std::string& source) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0) return {};
  return fail(std::format("show {} at {}: {}", source, target, std::strerror(errno)));
}

}  // namespace doxlab::net
