#include "report/preflight.hpp"

#include <gtest/gtest.h>

namespace doxlab::report {
namespace {

TEST(PreflightText, IsALineForEachCheckAndOneThatSumsUp) {
  results::PreflightRun run;
  run.checks = {{"clock", "ok", "fine", "", ""}, {"tun", "failed", "no device", "it is the link", "modprobe tun"}, {"lab", "skipped", "needs tun", "", ""}};
  EXPECT_EQ(preflight_text(run),
            "ok       clock  fine\n"
            "FAILED   tun    no device; why it matters: it is the link; to do: modprobe tun\n"
            "skipped  lab    needs tun\n"
            "1 ok, 1 failed, 1 skipped: do not trust measurements on this machine yet\n");
}

TEST(PreflightText, SaysThatMeasurementsCanBeMade) {
  results::PreflightRun run;
  run.checks = {{"clock", "ok", "fine", "", ""}};
  run.passes = true;
  EXPECT_EQ(preflight_text(run), "ok       clock  fine\n1 ok: measurements can be made\n");
  run.complete = run.passes = false;
  EXPECT_EQ(preflight_text(run), "ok       clock  fine\n1 ok: interrupted\n");
}

}  // namespace
}  // namespace doxlab::report
