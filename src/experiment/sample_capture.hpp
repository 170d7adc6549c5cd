#pragma once
/// The packets of a run's samples in one file that Wireshark opens: lookup by lookup, each with the secrets
/// that decrypt it before its packets, in order of time at the client. Timestamps go back where the next
/// lookup overlapped the one before. The first packet of each has a comment with its name, "DoT/17: answered
/// after 88.1 ms", and so has each packet that the link lost or spoiled.

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "capture/pcapng.hpp"
#include "experiment/rig.hpp"

namespace doxlab::experiment {

/// Which samples a capture has.
enum class CaptureChoice : std::uint8_t {
  All,
  /// Of each transport those without an answer, and of the rest the slowest: one in a hundred of those made,
  /// at least three. Disturbed ones come after all others.
  Slow,
};

struct SampleCaptureOptions {
  std::string path;
  CaptureChoice choice = CaptureChoice::All;
  std::uint64_t limit_bytes = 256 << 20;  ///< of the file; Slow keeps no more than that in memory either
  std::size_t samples_each = 0;           ///< lookups that the run makes for each transport
  Duration one_way_delay{};               ///< of the link: when packets that never arrived would have
  std::string comment;                    ///< of the whole file
};

struct SampleCaptureSummary {
  std::uint64_t lookups = 0, packets = 0, bytes = 0;  ///< in the file
  std::uint64_t left_out = 0;                         ///< lookups that were chosen but did not fit the limit
  std::string error;                                  ///< why the file is not complete; empty if it is
};

class SampleCapture {
 public:
  /// Makes the file, or empties it. Errors: std::runtime_error with the system's reason.
  explicit SampleCapture(const SampleCaptureOptions& options);
  SampleCapture(const SampleCapture&) = delete;
  SampleCapture& operator=(const SampleCapture&) = delete;

  /// All, and lookups without an answer: in the file when it returns, so that the file is valid whenever the
  /// run ends. The slowest are held back until finish(). What cannot be written is in the summary's `error`.
  void add(const Sample& sample);
  /// Writes what is held back and closes the file. Call it once, at the end.
  SampleCaptureSummary finish();

 private:
  struct Rank {
    bool disturbed = false;
    Duration took{};
    std::uint64_t sample = 0;
  };
  /// A sample as it will be in the file.
  struct Held {
    Rank rank;
    Timestamp started;
    std::uint64_t packets = 0;
    std::string blocks;
  };
  static Rank rank_of(const Sample& sample);
  /// Whether `a` stays when one of them must go.
  static bool is_preferred(const Rank& a, const Rank& b);
  static bool stays_longer(const Held& a, const Held& b);

  std::string take_composed();
  Held compose(const Sample& sample);
  void hold(const Sample& sample);
  void drop_last(std::vector<Held>& held);
  bool make_room(std::size_t bytes);
  void write(const Held& held);
  void append(const std::string& blocks);

  SampleCaptureOptions options_;
  std::size_t keep_each_;
  std::ofstream file_;
  std::ostringstream composed_;
  capture::CaptureWriter writer_;                ///< into composed_
  std::map<Transport, std::vector<Held>> held_;  ///< heaps, the next to go on top
  std::uint64_t held_bytes_ = 0;
  bool full_ = false;  ///< All: nothing more is written
  SampleCaptureSummary summary_;
};

}  // namespace doxlab::experiment
