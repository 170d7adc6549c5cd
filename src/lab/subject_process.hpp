#pragma once
/// A subject that runs: its program in the server's namespace of a lab, with its files in a folder of its own.

#include <memory>
#include <optional>
#include <string>

#include "lab/lab.hpp"
#include "lab/program_folder.hpp"
#include "lab/subject.hpp"
#include "net/child_process.hpp"

namespace doxlab::lab {

class SubjectProcess {
 public:
  /// Writes the files and starts the program. `contents` are further files of the work folder, by name, as they
  /// are; of the folder see ProgramFolder.
  /// The program and all that it starts end with this object, and with this process if that is killed.
  /// {{folder}} is known here; values whose names end in _file are names in it and become paths. Errors: std::runtime_error naming the program (and the package that has it) or
  /// the placeholder.
  SubjectProcess(Lab& lab, const Subject& subject, SubjectValues values,
                 const std::map<std::string, std::string>& contents);
  /// SIGTERM, and what is left after a second is killed.
  ~SubjectProcess();
  SubjectProcess(const SubjectProcess&) = delete;
  SubjectProcess& operator=(const SubjectProcess&) = delete;

  /// How it ended: "exit code 1", "signal 11 (Segmentation fault)"; empty: it runs.
  std::optional<std::string> ended() const;
  /// Until it has ended, at most that long.
  void wait(Duration timeout) const { child_->wait(timeout); }
  /// The last lines that it wrote, at most `lines`, printable and of bounded length; empty: none.
  std::string last_words(std::size_t lines = 10) const;

 private:
  void start_in_folder(const Subject& subject, SubjectValues& values,
                       const std::map<std::string, std::string>& contents);

  std::optional<ProgramFolder> folder_;
  std::unique_ptr<net::ChildProcess> child_;  // ends before its folder goes
};

/// A program by the name that people know and the Debian package that holds it; the package may be empty.
struct DescribedProgram {
  std::string_view name, package;
};
/// Errors: std::runtime_error naming the program, with the package if it is not on this machine.
std::unique_ptr<net::ChildProcess> start_described(const DescribedProgram& program, const std::vector<std::string>& command,
                                                   const net::ChildOptions& options);
/// The first number with a dot in it that the command prints; empty: there is none. Errors: as start_described().
std::string ask_version(const DescribedProgram& program, const std::vector<std::string>& version_command);

/// "exit code 1", "signal 11 (Segmentation fault)", of a status as net::ChildProcess gives it.
std::string how_it_ended(int status);

/// The last `lines` of a program's output, each of at most 200 characters, the unprintable as '?'.
std::string last_lines(std::string_view output, std::size_t lines);

}  // namespace doxlab::lab
