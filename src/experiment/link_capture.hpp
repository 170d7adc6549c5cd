#pragma once
/// The capture of a lab whose flows nobody registered, written to a file as it grows.

#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "capture/pcapng.hpp"
#include "lab/lab.hpp"

namespace doxlab::experiment {

class LinkCapture {
 public:
  /// Writes in a thread of its own. Lifetime: `lab` outlives this object. Errors: std::runtime_error if the
  /// file cannot be made.
  LinkCapture(lab::Lab& lab, const std::string& path, const std::string& comment);
  ~LinkCapture();
  LinkCapture(const LinkCapture&) = delete;
  LinkCapture& operator=(const LinkCapture&) = delete;

  /// A line of an NSS key log; any thread. It is in the file before the packets that it decrypts.
  void add_secret(std::string_view line);
  /// Waits until packets that are on the way have arrived, writes the rest and ends the file.
  /// Errors: std::runtime_error if something could not be written, or packets came faster than that.
  std::uint64_t finish();

 private:
  void run(std::stop_token stop);
  void write(Timestamp until);

  lab::Lab& lab_;
  std::string path_;
  std::ofstream file_;
  capture::CaptureWriter writer_;
  std::mutex mutex_;
  std::string secrets_;  ///< not yet written
  std::jthread thread_;
};

}  // namespace doxlab::experiment
