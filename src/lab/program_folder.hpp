#pragma once
/// The folder in which a program of others runs.

#include <string>
#include <string_view>

namespace doxlab::lab {

/// Where the kernel allows it, it is in memory and seen by the constructing thread and its later children alone, so that nothing
/// of it is left however they end; that thread is then of no use for anything else. Else it is a folder for temporary files,
/// removed in the destructor.
class ProgramFolder {
 public:
  /// Errors: std::system_error.
  ProgramFolder();
  ~ProgramFolder();
  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  const std::string& path() const { return path_; }

  /// A file that its owner alone may read. Errors: std::runtime_error with its path.
  void write(const std::string& name, std::string_view content) const;
  /// What children of the thread find at `path`, of which `name` in this folder is the content. Only of a folder in memory.
  void show_at(const char* path, const std::string& name) const;
  /// At most `limit` bytes of a file; empty if there is none.
  std::string read(const std::string& name, std::size_t limit) const;

 private:
  std::string path_;
  bool is_private_ = false;
};

}  // namespace doxlab::lab
