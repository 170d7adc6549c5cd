#pragma once
/// qlog of QUIC connections as files: ID_client.sqlog and ID_server.sqlog in one folder, where ID is the
/// original Destination Connection ID. A server may begin anew with an ID, as it does when the first of a
/// client's Initials is lost and it drops what the second began: then there is also ID_server-2.sqlog. A
/// thread of its own writes them, so that connections never wait for a disk.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "quic/options.hpp"

namespace doxlab::app {

class QlogFolder {
 public:
  /// Connections whose qlog is written, both ends counted.
  static constexpr std::size_t kMostFiles = 10000;
  /// Of one file; what a connection says later is left out.
  static constexpr std::size_t kMostBytes = 16 << 20;

  /// Makes the folder if it does not exist. Errors: std::runtime_error with the system's reason.
  explicit QlogFolder(const std::string& path);
  ~QlogFolder();
  QlogFolder(QlogFolder&&) noexcept;

  /// For quic::Options, in any thread. Sinks may outlive this object; then they write nothing.
  quic::QlogOpener opener() const;
  /// Waits until everything is on its way to the disk, and says on standard error what was left out. Sinks
  /// that are still open write nothing any more. False if a file could not be written.
  bool finish();

 private:
  class Writer;
  std::shared_ptr<Writer> writer_;
};

/// Adds --qlog.
void add_qlog_option(CLI::App& command, std::string& path);

}  // namespace doxlab::app
