#include "qlog_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <format>
#include <map>
#include <mutex>
#include <print>
#include <stdexcept>
#include <thread>
#include <utility>

#include "net/file_descriptor.hpp"

namespace doxlab::app {
namespace {

/// So much of a connection's qlog waits in memory before it is handed to the writer.
constexpr std::size_t kChunk = 64 << 10;
/// What the writer may be behind; over it, files are cut rather than memory filled.
constexpr std::size_t kBacklog = 256 << 20;

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

class QlogFolder::Writer {
 public:
  /// Of one connection. `path` is constant; the rest belongs to the writer's thread.
  struct File {
    std::string path;
    bool is_made = false, is_given_up = false;
  };

  explicit Writer(std::string path) : path_(std::move(path)), thread_([this] { run(); }) {}
  ~Writer() { finish(); }

  /// Null: there are enough.
  std::shared_ptr<File> open(const quic::ConnectionId& id, bool is_server) {
    const std::lock_guard lock(mutex_);
    if (is_ended_) return nullptr;
    if (opened_ == kMostFiles) {
      if (refused_++ == 0)
        std::println(stderr, "doxlab: WARNING: {} has qlog of {} connection ends; further ones get none",
                     path_, kMostFiles);
      return nullptr;
    }
    ++opened_;
    // A connection ID may come from a stranger, so it is never a name as it is.
    auto name = std::format("{}/{}_{}", path_, to_hex(id.octets), is_server ? "server" : "client");
    if (const auto count = ++names_[name]; count > 1) name += std::format("-{}", count);
    return std::make_shared<File>(name + ".sqlog");
  }

  void add(const std::shared_ptr<File>& file, std::string&& text) {
    const std::lock_guard lock(mutex_);
    if (is_ended_) return;
    if (backlog_ + text.size() > kBacklog) {
      ++cut_;
      return;
    }
    backlog_ += text.size();
    waiting_.emplace_back(file, std::move(text));
    arrived_.notify_one();
  }

  void note_cut() {
    const std::lock_guard lock(mutex_);
    ++cut_;
  }

  bool finish() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_ended_, true)) return error_.empty();
      arrived_.notify_one();
    }
    thread_.join();
    if (refused_ > 0)
      std::println(stderr, "doxlab: WARNING: {}: {} connection ends have no qlog, beyond the first {}", path_,
                   refused_, kMostFiles);
    if (cut_ > 0) std::println(stderr, "doxlab: WARNING: {}: {} qlog files are cut short", path_, cut_);
    if (!error_.empty()) std::println(stderr, "doxlab: {}", error_);
    return error_.empty();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      arrived_.wait(lock, [this] { return is_ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const auto [file, text] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      write(*file, text);
      lock.lock();
      backlog_ -= text.size();
    }
  }

  void write(File& file, const std::string& text) {
    if (file.is_given_up) return;
    // What an earlier run has left is never added to.
    const int flags = file.is_made ? O_APPEND : O_CREAT | O_EXCL;
    const net::FileDescriptor fd(::open(file.path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666));
    if (fd && write_all(fd.get(), text)) {
      file.is_made = true;
      return;
    }
    file.is_given_up = true;
    if (error_.empty()) error_ = std::format("{}: {}", file.path, std::strerror(errno));
  }

  const std::string path_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<std::shared_ptr<File>, std::string>> waiting_;
  std::map<std::string, std::size_t> names_;  ///< those given out, and how often
  std::size_t backlog_ = 0, opened_ = 0, refused_ = 0, cut_ = 0;
  bool is_ended_ = false;
  std::string error_;  ///< the first; of the writer's thread until it has ended
  std::thread thread_;
};

QlogFolder::QlogFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (!error && !std::filesystem::is_directory(path))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) throw std::runtime_error(std::format("{}: {}", path, error.message()));
  writer_ = std::make_shared<Writer>(path);
}
QlogFolder::~QlogFolder() {
  if (writer_) writer_->finish();
}
QlogFolder::QlogFolder(QlogFolder&&) noexcept = default;

bool QlogFolder::finish() {
  return writer_->finish();
}

quic::QlogOpener QlogFolder::opener() const {
  /// What a connection has said and the writer does not have yet. Handed over when the connection goes.
  struct Pending {
    Pending(std::shared_ptr<Writer> to, std::shared_ptr<Writer::File> of)
        : writer(std::move(to)), file(std::move(of)) {}
    ~Pending() { hand_over(); }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    void hand_over() {
      if (!text.empty()) writer->add(file, std::exchange(text, {}));
    }
    void add(std::string_view record) {
      if (is_cut) return;
      if (total + record.size() > kMostBytes) {
        is_cut = true;
        writer->note_cut();
        return;
      }
      total += record.size();
      text += record;
      if (text.size() >= kChunk) hand_over();
    }

    std::shared_ptr<Writer> writer;
    std::shared_ptr<Writer::File> file;
    std::string text;
    std::size_t total = 0;
    bool is_cut = false;
  };
  return [writer = writer_](const quic::ConnectionId& id, bool is_server) -> quic::QlogSink {
    auto file = writer->open(id, is_server);
    if (!file) return {};
    return [pending = std::make_shared<Pending>(writer, std::move(file))](std::string_view record) {
      pending->add(record);
    };
  };
}

void add_qlog_option(CLI::App& command, std::string& path) {
  command.add_option(
      "--qlog", path,
      "Write qlog of the QUIC connections to this folder: ID_client.sqlog and ID_server.sqlog");
}

}  // namespace doxlab::app
