#pragma once
/// A folder for the files of one test.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace doxlab::test {

/// Removed with all that is in it when this object goes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "doxlab-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  /// The path of a file in it, whether it exists or not.
  std::string file(std::string_view name) const { return (path_ / name).string(); }

  /// Makes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::ofstream out(file(name), std::ios::binary);
    out << content;
    if (!out.flush()) throw std::runtime_error("cannot write " + file(name));
    return file(name);
  }
  /// The whole of a file. Errors: std::runtime_error if it cannot be read.
  std::string read(std::string_view name) const {
    std::ifstream in(file(name), std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace doxlab::test
