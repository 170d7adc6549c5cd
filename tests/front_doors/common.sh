# shellcheck shell=bash
# Sourced by the *_test.sh files: a folder for the case, commands with recorded output, and assertions. A test file
# ends with `run_case "$@"`, which calls the function case_NAME for each NAME.
set -euo pipefail

source_dir=${DOXLAB_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
work=

# The folder has a space in its name on purpose.
new_work() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/doxlab doors.XXXXXX")
  chmod 755 "$work"
  mkdir "$work/checkout" "$work/stand-ins"
  trap 'rm -rf --one-file-system "$work"' EXIT
}

copy_of() { cp -r "${@/#/$source_dir/}" "$work/checkout/"; }

# stand_in NAME: a program of that name, from stdin, that is found before the real one.
stand_in() {
  cat >"$work/stand-ins/$1"
  chmod 755 "$work/stand-ins/$1"
}

# call CMD...: runs it; leaves its exit code in $status and its output in $out and $err.
call() {
  status=0
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  out=$(<"$work/out")
  err=$(<"$work/err")
}

die() {
  printf 'FAILED: %s\n--- exit code %s\n--- stdout\n%s\n--- stderr\n%s\n' "$1" "${status:-?}" "${out:-}" "${err:-}" >&2
  exit 1
}

expect_status() { [ "$status" = "$1" ] || die "expected exit code $1"; }
expect_out() { [ "$out" = "$1" ] || die "expected this on stdout: $1"; }
expect_err_has() { [[ $err == *"$1"* ]] || die "expected on stderr: $1"; }
expect_err_lacks() { [[ $err != *"$1"* ]] || die "did not expect on stderr: $1"; }
expect() { local what=$1; shift; "$@" || die "expected: $what"; }

skip() { printf 'skipped: %s\n' "$1"; exit 77; }

# wait_until WHAT CMD...: until CMD succeeds, ten seconds at most.
wait_until() {
  local what=$1 i
  shift
  for ((i = 0; i < 200; i++)); do
    ! "$@" || return 0
    read -r -t 0.05 <> <(:) || true
  done
  die "waited in vain: $what"
}

# run_case [NAME]: that case, in this shell, so that every failing command ends it. Without NAME: each case in turn.
run_case() {
  local name code failed=0
  if [ $# = 1 ]; then
    new_work
    "case_$1"
    return
  fi
  for name in $(declare -F | sed -n 's/^declare -f case_//p'); do
    code=0
    bash "$0" "$name" || code=$?
    case $code in
      0) echo "passed: $name" ;;
      77) ;;
      *) echo "failed: $name" >&2; failed=1 ;;
    esac
  done
  return $failed
}
