#!/usr/bin/env bash
# ./run: it builds when, and only when, something changed, and it becomes the program.
# shellcheck source=tests/front_doors/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# A small checkout whose ./dev is a stand-in: it notes each call, and "builds" a program that prints its arguments.
set_up() {
  copy_of run toolchain
  cd "$work/checkout"
  mkdir -p src/base apps/doxlab cmake subjects
  echo one >src/base/a.cpp
  echo two >"src/base/with space.hpp"
  touch apps/doxlab/main.cpp cmake/Room.cmake CMakeLists.txt CMakePresets.json
  cat >dev <<'SH'
#!/bin/bash
cd "$(dirname "$0")"
echo "$*" >>../calls
[[ $* == *--build* ]] || exit 0
if [ -e ../break-build ]; then echo "error: it is broken"; exit 3; fi
mkdir -p build/release/apps/doxlab
cp ../program build/release/apps/doxlab/doxlab
SH
  cat >"$work/program" <<'SH'
#!/bin/bash
printf '%s|' "$@"
[ "$1" != fail ] || exit 42
[ "$1" != where ] || pwd
if [ "$1" = wait ]; then trap 'echo ended; exit 7' TERM; echo $$ >started; while :; do read -r -t 0.05 <> <(:) || true; done; fi
SH
  chmod +x dev "$work/program"
  : >"$work/calls"
}

builds() { grep -c -e '--build' "$work/calls" || true; }
expect_builds() { [ "$(builds)" = "$1" ] || die "expected $1 builds, saw $(builds)"; }

case_builds_once() {
  set_up
  call ./run packets -n "3 4" '*'
  expect_status 0
  expect_out "packets|-n|3 4|*|"
  expect_builds 1
  call ./run packets
  expect_out "packets|"
  expect_builds 1
  expect "no further call of ./dev" test "$(wc -l <"$work/calls")" = 3
}

case_without_arguments_runs_the_suite() {
  set_up
  call ./run
  expect_out "suite|"
  call ./run --help
  expect_out "--help|"
}

case_any_change_builds() {
  set_up
  call ./run x
  echo more >>src/base/a.cpp
  call ./run x
  expect_builds 2
  touch src/base/added.cpp
  call ./run x
  expect_builds 3
  rm "src/base/with space.hpp"
  call ./run x
  expect_builds 4
  echo zlib1g >>toolchain/packages.build
  call ./run x
  expect_builds 5
  mv src/base/a.cpp src/base/b.cpp
  call ./run x
  expect_builds 6
  call ./run x
  expect_builds 6
}

case_a_touched_file_does_not() {
  set_up
  call ./run x
  touch src/base/a.cpp
  call ./run x
  expect_builds 1
}

# ninja goes by times, so a changed file with an old time needs a clean build.
case_a_restored_older_file_builds_clean() {
  set_up
  call ./run x
  # shellcheck disable=SC2016
  expect "no clean build at first" bash -c '! grep -q clean-first "$1"' check "$work/calls"
  echo older >src/base/a.cpp
  touch -d 2001-01-01 src/base/a.cpp
  call ./run x
  expect_builds 2
  expect "a clean build" grep -q clean-first "$work/calls"
}

case_a_lost_program_is_built_again() {
  set_up
  call ./run x
  rm build/release/apps/doxlab/doxlab
  call ./run x
  expect_out "x|"
  expect_builds 2
}

case_a_failed_build_is_shown_and_runs_nothing() {
  set_up
  call ./run x
  touch "$work/break-build"
  echo change >src/base/a.cpp
  call ./run x
  expect_status 3
  expect_out ""
  expect_err_has "error: it is broken"
  expect_err_has "build/logs/run-build.log"
  rm "$work/break-build"
  call ./run x
  expect_status 0
  expect_out "x|"
  expect_builds 3
}

case_a_short_build_says_nothing() {
  set_up
  call ./run x
  [ -z "$err" ] || die "expected nothing on stderr"
}

case_the_exit_code_is_passed_on() {
  set_up
  call ./run fail
  expect_status 42
}

case_it_runs_where_it_was_called() {
  set_up
  mkdir "$work/elsewhere"
  cd "$work/elsewhere"
  call "$work/checkout/run" where
  expect_out "where|$work/elsewhere"
}

case_a_symbolic_link_to_it_does_the_same() {
  set_up
  mkdir "$work/elsewhere"
  ln -s "$work/checkout/run" "$work/elsewhere/doxlab"
  cd "$work/elsewhere"
  call ./doxlab x
  expect_status 0
  expect_out "x|"
}

case_signals_reach_the_program() {
  set_up
  call ./run x
  ./run wait >"$work/out" 2>"$work/err" </dev/null &
  local pid=$!
  wait_until "the program starts" test -s started
  expect "the program is the process itself" test "$(<started)" = $pid
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  out=$(<"$work/out") err=$(<"$work/err")
  expect_status 7
  expect_out "wait|ended"
}

case_two_at_once_build_once() {
  set_up
  ./run first >"$work/first" 2>&1 </dev/null &
  local pid=$!
  call ./run second
  wait $pid
  expect_out "second|"
  expect "the first one ran, too" grep -qF 'first|' "$work/first"
  expect_builds 1
}

run_case "$@"
