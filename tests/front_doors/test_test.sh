#!/usr/bin/env bash
# ./test: what each mode calls, and that a failing step is not passed over.
# shellcheck source=tests/front_doors/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

set_up() {
  copy_of test toolchain
  cd "$work/checkout"
  cat >dev <<'SH'
#!/bin/bash
shift # --with-test-tools
echo "$*" >>../calls
case "$*" in
  *"$(cat ../failing 2>/dev/null || echo nothing-fails)"*) echo "it failed"; exit 8 ;;
  ctest*) echo "100% tests passed" ;;
  "cmake --build --preset fuzz")
    mkdir -p build/fuzz/fuzz
    cp ../fuzzer build/fuzz/fuzz/fuzz_dns
    chmod +x build/fuzz/fuzz/fuzz_dns ;;
  xargs*fuzz-target*) "$@" ;;
esac
SH
  chmod +x dev
  : >"$work/calls"
}

called() { grep -qE "$1" "$work/calls"; }

case_plain_runs_everything() {
  set_up
  call ./test -R unit_dns
  expect_status 0
  expect_out "100% tests passed"
  expect "the preset dev is built" called '^cmake --build --preset dev$'
  expect "arguments reach ctest" called '^ctest --preset dev -j [0-9]+ -R unit_dns$'
}

case_quick() {
  set_up
  call ./test --quick
  expect "the quick preset" called '^ctest --preset quick'
}

case_sanitize_runs_both() {
  set_up
  call ./test --sanitize
  expect_status 0
  expect "address" called '^ctest --preset asan-ubsan'
  expect "thread" called '^ctest --preset tsan'
}

case_sanitize_stops_at_a_failure() {
  set_up
  echo "ctest --preset asan-ubsan" >"$work/failing"
  call ./test --sanitize
  expect_status 8
}

case_a_broken_build_runs_no_tests() {
  set_up
  echo "--build" >"$work/failing"
  call ./test
  expect_status 8
  expect_err_has "it failed"
  # shellcheck disable=SC2016
  expect "no tests" bash -c '! grep -q ctest "$1"' check "$work/calls"
}

case_failing_tests_fail() {
  set_up
  echo "ctest" >"$work/failing"
  call ./test
  expect_status 8
}

case_fuzz() {
  set_up
  mkdir -p fuzz/corpus/dns
  cat >"$work/fuzzer" <<'SH'
#!/bin/sh
echo "$*" >>../calls
echo "stat::number_of_executed_units: 1234"
SH
  chmod +x "$work/fuzzer"
  call ./test --fuzz 7
  expect_status 0
  expect_out "dns: 1234 inputs, no failure"
  expect "the time" called '^-max_total_time=7 '
  expect "the corpus" called 'build/fuzz/corpus/dns fuzz/corpus/dns$'
  printf '#!/bin/sh\necho "deadly signal"\nexit 77\n' >"$work/fuzzer"
  call ./test --fuzz 7
  expect "a failure" test "$status" != 0
  expect_err_has "deadly signal"
}

case_wrong_use() {
  set_up
  local arguments
  for arguments in "--fuzz" "--fuzz soon" "--fuzz 0" "--fuzz 5 more"; do
    # shellcheck disable=SC2086
    call ./test $arguments
    expect_status 2
    expect_err_has "usage: ./test"
  done
  call ./test --help
  expect_status 0
  expect "nothing is built" test ! -s "$work/calls"
}

run_case "$@"
