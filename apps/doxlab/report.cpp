#include <filesystem>
#include <memory>
#include <print>

#include "commands.hpp"
#include "files.hpp"
#include "report/html/report.hpp"
#include "report_file.hpp"
#include "study_file.hpp"

namespace doxlab::app {

namespace {

bool has_anything(const results::Study& study) {
  return study.packets || study.as_published || study.pq || study.warm || study.loss || study.dropmap;
}

}  // namespace

void write_report(const std::string& path, const results::Study& study) {
  write_output(path, report::html_report(study));
  if (path != "-") std::println("Report: file://{}", std::filesystem::absolute(path).lexically_normal().string());
}

Command add_report(CLI::App& parent) {
  struct Options {
    std::string in, out;
  };
  auto* command = parent.add_subcommand("report", "A page with charts from results: one HTML file");
  auto options = std::make_shared<Options>();
  command->add_option("RESULTS", options->in, "What --json wrote: of suite, packets, loss, pq, warm or dropmap")->required();
  command->add_option("-o,--output", options->out, "File to write, - for standard output; default: report.html beside RESULTS");
  command->footer("Examples:\n"
                  "  doxlab report out/results.json                      writes out/report.html\n"
                  "  doxlab loss --loss 2 -n 2000 --json loss.json && doxlab report loss.json -o loss.html\n"
                  "  doxlab report results.json -o - | gzip > report.html.gz\n\n"
                  "The page is one file that needs no network; without JavaScript its tables remain. What is in it: docs/report.md.");
  return {command,
          [options](const Invocation&) {
            auto path = options->out;
            if (path.empty()) path = (std::filesystem::path(options->in).parent_path() / "report.html").string();
            const auto study = read_study(options->in);
            if (!has_anything(study))
              throw std::runtime_error(options->in + ": a study without an experiment; there is nothing to report");
            std::error_code missing;
            if (std::filesystem::equivalent(options->in, path, missing))
              throw UsageError(path + ": the page would take the place of its results");
            check_output(path);
            write_report(path, study);
            return kOk;
          },
          [] { return false; }};
}

}  // namespace doxlab::app
