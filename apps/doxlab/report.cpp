#include <filesystem>
#include <memory>
#include <print>

#include "commands.hpp"
#include "files.hpp"
#include "report/html/report.hpp"
#include "report_file.hpp"
#include "study_file.hpp"

namespace doxlab::app {

void write_report(const std::string& path, const results::Study& study) {
  write_output(path, report::html_report(study));
  if (path != "-") std::println("Report: file://{}", std::filesystem::absolute(path).lexically_normal().string());
}

Command add_report(CLI::App& parent) {
  struct Options {
    std::string in, out;
  };
  auto* command = parent.add_subcommand("report", "A page with charts from results, to be opened in a browser");
  auto options = std::make_shared<Options>();
  command->add_option("RESULTS", options->in, "What --json wrote: of suite, packets, loss, pq, warm or dropmap")->required();
  command->add_option("-o,--output", options->out, "File to write, - for standard output; default: report.html beside RESULTS");
  command->footer("Example:\n  doxlab report out/results.json -o report.html\n\n"
                  "The page is one file that needs no network, and no JavaScript to be read.");
  return {command,
          [options](const Invocation&) {
            auto path = options->out;
            if (path.empty()) path = (std::filesystem::path(options->in).parent_path() / "report.html").string();
            const auto study = read_study(options->in);
            check_output(path);
            write_report(path, study);
            return kOk;
          },
          [] { return false; }};
}

}  // namespace doxlab::app
