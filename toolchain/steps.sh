# shellcheck shell=bash disable=SC2154
# Sourced by ./run, ./test and .ci/run: one way to run a long step, and one way to say that it failed.
# The caller sets `program`, the word that begins each message. Needs bash, `set -euo pipefail` and the current folder
# set by the caller.

say() { printf '%s: %s\n' "$program" "$*" >&2; }

# fail WHAT [WHAT-TO-DO]: the last message of a script.
fail() {
  say "$1"
  [ $# -lt 2 ] || say "what to do: $2"
  exit 1
}

# step TITLE LOG CMD...: runs CMD with its output in LOG. A line says so when it takes more than two seconds; the end
# of LOG is shown when it fails. CMD stays in the foreground, so that Ctrl-C reaches it.
step() {
  local title=$1 log=$2 status=0 watcher started=$SECONDS
  shift 2
  mkdir -p "${log%/*}" || fail "cannot write to ${log%/*}" "check the folder's rights and the free space (df -h)"
  : >"$log" || fail "cannot write $log" "check the folder's rights and the free space (df -h)"
  watch_step "$title" "$log" &
  watcher=$!
  # shellcheck disable=SC2064
  trap "kill $watcher 2>/dev/null || true; exit 130" INT
  # shellcheck disable=SC2064
  trap "kill $watcher 2>/dev/null || true" EXIT
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  trap - INT EXIT
  [ ! -t 2 ] || printf '\r\033[K' >&2
  if [ "$status" != 0 ]; then
    say "$title failed (exit code $status); the end of $log:"
    tail -n 30 "$log" | sed 's/^/  | /' >&2
    explain_full_disk "$log"
    return "$status"
  fi
  if [ $((SECONDS - started)) -ge 3 ]; then say "$title took $((SECONDS - started)) s"; fi
}

# On a terminal the line is renewed with ninja's own count; elsewhere it is printed once.
watch_step() {
  local title=$1 log=$2 started=$SECONDS count pause
  # A pipe that never has anything to read: waiting on it needs no sleep process, which would outlive this one.
  exec {pause}<> <(:)
  read -r -t 2 -u "$pause" || true
  [ -t 2 ] || { say "$title (log: $log)"; return; }
  while :; do
    count=$(tail -n 1 "$log" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]' || true)
    printf '\r\033[K%s: %s %s %d s' "$program" "$title" "$count" $((SECONDS - started)) >&2
    read -r -t 1 -u "$pause" || true
  done
}

explain_full_disk() {
  local free
  free=$(df --output=avail -k "${1%/*}" 2>/dev/null | tail -n 1) || return 0
  [ "${free:-1000000}" -ge 100000 ] || say "less than 100 MB are free on this disk: that may be why"
}
