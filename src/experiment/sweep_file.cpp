#include "experiment/sweep_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <stdexcept>

namespace doxlab::experiment {
namespace {

/// How a header begins, by which half a header is told from a file that is something else.
constexpr std::string_view kHeaderStart = R"({"schema_version":1,"experiment":"sweep",)";

std::string shard_text(const std::optional<results::Shard>& shard) {
  return shard ? std::format("shard {}/{}", shard->index, shard->of) : "the whole";
}

/// Nothing, or what is left of a header whose writing was interrupted.
bool holds_no_line(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string start;
  std::getline(in, start);
  if (!in.eof()) return false;
  const auto length = std::min(start.size(), kHeaderStart.size());
  return start.compare(0, length, kHeaderStart, 0, length) == 0;
}

}  // namespace

Result<SweepContents> read_sweep_file(const std::string& path, const OnCell& on_cell) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(std::format("{}: {}", path, std::strerror(errno)));
  SweepContents out;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) {
      out.torn = true;
      if (number == 1) return fail(std::format("{}: no file of doxlab sweep", path));
      break;
    }
    const auto offset = out.whole_bytes;
    out.whole_bytes += line.size() + 1;
    if (number == 1) {
      auto header = results::parse_sweep_header(line);
      if (!header) return fail(std::format("{}: {}", path, header.error().message));
      out.header = std::move(*header);
      continue;
    }
    auto cell = results::parse_sweep_cell(line, out.header);
    if (!cell) return fail(std::format("{}, line {}: {}", path, number, cell.error().message));
    if (!out.cells.insert(cell->cell).second)
      return fail(std::format("{}, line {}: cell {} is there twice", path, number, cell->cell));
    if (on_cell) on_cell(std::move(*cell), line, offset);
  }
  if (in.bad()) return fail(std::format("{}: read failed", path));
  if (out.whole_bytes == 0) return fail(std::format("{}: empty", path));
  return out;
}

Result<SweepFile> SweepFile::open(const std::string& path, const results::SweepHeader& header,
                                  const OnCell& on_cell) {
  SweepFile out;
  out.path_ = path;
  out.file_ = net::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!out.file_) return fail(std::format("{}: {}", path, std::strerror(errno)));
  struct stat status {};
  if (::fstat(out.file_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(std::format("{}: no regular file", path));
  if (::flock(out.file_.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? fail(std::format("{}: another doxlab sweep is writing it", path))
                                : fail(std::format("{}: {}", path, std::strerror(errno)));
  if (holds_no_line(path)) {
    if (::ftruncate(out.file_.get(), 0) != 0) return fail(std::format("{}: {}", path, std::strerror(errno)));
    out.contents_.header = header;
    out.write_line(results::to_json_line(header));
    return out;
  }
  auto contents = read_sweep_file(path, on_cell);
  if (!contents) return std::unexpected(contents.error());
  out.contents_ = std::move(*contents);
  const auto advice = "; give another --out, or remove the file";
  if (const auto different = results::difference(out.contents_.header, header); !different.empty())
    return fail(
        std::format("{}: holds another sweep: {} (the file, this command){}", path, different, advice));
  if (out.contents_.header.shard != header.shard)
    return fail(std::format("{}: holds {}, not {}{}", path, shard_text(out.contents_.header.shard),
                            shard_text(header.shard), advice));
  if (out.contents_.torn && ::ftruncate(out.file_.get(), static_cast<off_t>(out.contents_.whole_bytes)) != 0)
    return fail(std::format("{}: {}", path, std::strerror(errno)));
  return out;
}

void SweepFile::append(const results::SweepCell& cell) {
  write_line(results::to_json_line(cell));
  contents_.cells.insert(cell.cell);
}

void SweepFile::write_line(std::string line) {
  line += '\n';
  std::size_t written = 0;
  while (written < line.size()) {
    const auto n = ::write(file_.get(), line.data() + written, line.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const std::string reason = std::strerror(errno);
      (void)!::ftruncate(file_.get(), static_cast<off_t>(contents_.whole_bytes));
      throw std::runtime_error(std::format("{}: {}", path_, reason));
    }
    written += static_cast<std::size_t>(n);
  }
  if (::fdatasync(file_.get()) != 0)
    throw std::runtime_error(std::format("{}: {}", path_, std::strerror(errno)));
  contents_.whole_bytes += line.size();
}

}  // namespace doxlab::experiment
