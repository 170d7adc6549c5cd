#include "lab/program_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <format>
#include <fstream>
#include <stdexcept>

#include "net/private_folder.hpp"
#include "net/system_error.hpp"

namespace doxlab::lab {

ProgramFolder::ProgramFolder() {
  if (const auto made = net::make_private_folder()) {
    path_ = *made;
    is_private_ = true;
    return;
  }
  path_ = (std::filesystem::temp_directory_path() / "doxlab-program-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) net::throw_errno("make a temporary folder");
}

ProgramFolder::~ProgramFolder() {
  std::error_code ignored;
  if (!is_private_) std::filesystem::remove_all(path_, ignored);
}

void ProgramFolder::write(const std::string& name, std::string_view content) const {
  const auto file = path_ + "/" + name;
  std::ofstream out(file, std::ios::binary);
  out << content;
  if (!out.flush()) throw std::runtime_error(std::format("{}: {}", file, std::strerror(errno)));
  ::chmod(file.c_str(), 0600);
}

void ProgramFolder::show_at(const char* path, const std::string& name) const {
  if (is_private_) static_cast<void>(net::show_file_at(path, path_ + "/" + name));
}

std::string ProgramFolder::read(const std::string& name, std::size_t limit) const {
  std::ifstream in(path_ + "/" + name, std::ios::binary);
  std::string out(limit, '\0');
  in.read(out.data(), static_cast<std::streamsize>(limit));
  out.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  return out;
}

}  // namespace doxlab::lab
