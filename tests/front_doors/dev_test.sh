#!/usr/bin/env bash
# ./dev: where the toolchain is, what it says when something is missing, and that a root is whole or not there.
# shellcheck source=tests/front_doors/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# ./dev as on a machine without the toolchain, with a cache of its own and a mirror that nobody must reach.
dev() {
  env -u DOXLAB_IN_ROOT DOXLAB_TOOLCHAIN=root DOXLAB_MIRROR=http://127.0.0.1:9/debian XDG_CACHE_HOME="$work/cache" \
    PATH="$work/stand-ins:$PATH" "$work/checkout/dev" "$@"
}

set_up() {
  copy_of dev toolchain
  cache=$work/cache/doxlab
}

need_namespaces() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  unshare --mount --propagation private true 2>/dev/null || skip "needs mount namespaces"
}

nothing_made() { [ -z "$(ls -d "$cache"/trixie-* 2>/dev/null)" ]; }

case_where_inside() {
  set_up
  call env DOXLAB_IN_ROOT=1 "$work/checkout/dev" --where
  expect_status 0
  expect_out /
}

case_where_makes_nothing() {
  set_up
  call dev --where
  expect_status 0
  expect "the root's folder" test "${out%-*}" = "$cache/trixie"
  expect_err_has "not made yet"
  expect "no cache" test ! -e "$work/cache"
}

case_where_follows_the_package_list() {
  set_up
  call dev --where
  local before=$out
  echo "# a remark changes nothing" >>"$work/checkout/toolchain/packages.build"
  call dev --where
  expect_out "$before"
  echo zlib1g >>"$work/checkout/toolchain/packages.build"
  call dev --where
  expect "another folder" test "$out" != "$before"
}

case_inside_it_only_executes() {
  set_up
  call env DOXLAB_IN_ROOT=1 "$work/checkout/dev" bash -c 'pwd; printf "%s|" "$@"; exit 9' name "a b" '*'
  expect_status 9
  expect_out "$work/checkout"$'\n'"a b|*|"
}

case_inside_missing_test_tools_are_said_so() {
  set_up
  echo no-such-package >>"$work/checkout/toolchain/packages.test"
  call env DOXLAB_IN_ROOT=1 "$work/checkout/dev" --with-test-tools true
  expect_status 1
  expect_err_has "lacks the test tools"
}

case_wrong_use() {
  set_up
  local arguments
  for arguments in "" "--no-such-option" "--with-test-tools" "--where true" "--clean true"; do
    # shellcheck disable=SC2086
    call dev $arguments
    expect_status 2
    expect_err_has "usage: ./dev"
  done
  call dev --help
  expect_status 0
  expect "usage on stdout" grep -q '^usage: ./dev' "$work/out"
}

case_missing_packages_are_not_native() {
  set_up
  # pkg-config is content, dpkg knows all packages but one.
  stand_in pkg-config <<<'#!/bin/sh'
  stand_in dpkg-query <<'SH'
#!/bin/sh
echo installed
echo "dpkg-query: no packages found matching zlib1g-dev" >&2
exit 1
SH
  call env -u DOXLAB_TOOLCHAIN -u DOXLAB_IN_ROOT XDG_CACHE_HOME="$work/cache" PATH="$work/stand-ins:$PATH" \
    "$work/checkout/dev" --where
  expect_status 0
  expect "a root, not native" test "${out%-*}" = "$cache/trixie"
  stand_in dpkg-query <<'SH'
#!/bin/sh
echo installed
echo config-files
SH
  call env -u DOXLAB_TOOLCHAIN -u DOXLAB_IN_ROOT XDG_CACHE_HOME="$work/cache" PATH="$work/stand-ins:$PATH" \
    "$work/checkout/dev" --where
  expect "a root, not native" test "${out%-*}" = "$cache/trixie"
  stand_in dpkg-query <<<$'#!/bin/sh\necho installed\necho installed'
  call env -u DOXLAB_TOOLCHAIN -u DOXLAB_IN_ROOT XDG_CACHE_HOME="$work/cache" PATH="$work/stand-ins:$PATH" \
    "$work/checkout/dev" --where
  expect_out native
}

case_without_root() {
  [ "$(id -u)" = 0 ] || skip "needs root, to give it up"
  set_up
  call setpriv --reuid 65534 --regid 65534 --clear-groups env -u DOXLAB_IN_ROOT DOXLAB_TOOLCHAIN=root HOME="$work" \
    "$work/checkout/dev" true
  expect_status 1
  expect_err_has "needs root"
  expect_err_has "Containerfile"
}

case_without_mount_namespaces() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  set_up
  stand_in unshare <<<$'#!/bin/sh\nexit 1'
  call dev true
  expect_status 1
  expect_err_has "does not allow mount namespaces"
  expect "nothing made" nothing_made
}

case_without_apt() {
  need_namespaces
  set_up
  local tool
  for tool in bash env dirname readlink grep cat sha256sum cut id uname unshare flock mount umount pivot_root chroot true mkdir rm; do
    ln -s "$(type -P $tool)" "$work/stand-ins/$tool"
  done
  call env -u DOXLAB_IN_ROOT DOXLAB_TOOLCHAIN=root XDG_CACHE_HOME="$work/cache" PATH="$work/stand-ins" \
    "$work/checkout/dev" true
  expect_status 1
  expect_err_has "no apt"
  expect_err_has "what to do"
  expect "nothing made" nothing_made
}

case_without_space() {
  need_namespaces
  set_up
  stand_in df <<<$'#!/bin/sh\necho Avail; echo 1000000'
  call dev true
  expect_status 1
  expect_err_has "less than 3 GB"
  expect "nothing made" nothing_made
}

case_without_mirror() {
  need_namespaces
  set_up
  stand_in mmdebstrap <<'SH'
#!/bin/sh
for last; do target=$last; [ "$last" != - ] || break; target_before=$last; done
mkdir -p "$target_before/etc"
echo "E: cannot reach the mirror"
exit 25
SH
  call dev true
  expect_status 1
  expect_err_has "cannot reach the mirror"
  expect_err_has "what to do"
  expect "no root, whole or half" nothing_made
}

case_half_made_roots_are_not_taken() {
  need_namespaces
  set_up
  call dev --where
  mkdir -p "$out.partial.1/usr/bin"
  stand_in mmdebstrap <<<$'#!/bin/sh\nexit 1'
  call dev true
  expect_status 1
  expect "no root, whole or half" nothing_made
}

case_the_root_appears_whole() {
  need_namespaces
  set_up
  stand_in mmdebstrap <<'SH'
#!/bin/sh
while [ "$2" != - ]; do shift; done
mkdir -p "$1/proc" "$1/sys" "$1/dev" "$1/tmp" "$1/etc"
case $1 in *.partial.*) echo half >"$1/mark" ;; esac
cat >"$1/sources"
SH
  call dev --where
  local root=$out
  call dev true # fails on entering: this root has no programs
  expect "the root" test -f "$root/mark"
  expect "the mirror that was asked for" grep -q '^deb http://127.0.0.1:9/debian trixie main$' "$root/sources"
  # shellcheck disable=SC2016
  expect "nothing mounted" bash -c '! grep -qF "${1// /\\040}" /proc/self/mounts' check "$root"
}

# However ./dev ends while a root is being made, nothing is left and nothing goes on.
interrupted() { # signal, exit code
  need_namespaces
  set_up
  stand_in mmdebstrap <<'SH'
#!/bin/bash
while [ "$2" != - ]; do shift; done
mkdir -p "$1/etc"
exec 8>"$HOME/alive"
flock 8
touch "$HOME/started"
sleep 600
SH
  HOME=$work dev true >"$work/out" 2>"$work/err" </dev/null &
  local pid=$!
  wait_until "the maker starts" test -e "$work/started"
  # `dev` is a function: the script is the child that bears the name.
  kill -"$1" "$(script_pid $pid)"
  status=0
  wait $pid || status=$?
  out='' err=$(<"$work/err")
  expect_status "$2"
  wait_until "the maker ends" flock -n "$work/alive" true
}

# env and bash replace one another, so the background job is either the script itself or its parent.
script_pid() {
  local child
  if tr '\0' ' ' <"/proc/$1/cmdline" | grep -q 'checkout/dev true'; then echo "$1"; return; fi
  for child in $(<"/proc/$1/task/$1/children"); do script_pid "$child"; done
}

case_a_terminated_maker_leaves_nothing() {
  interrupted TERM 143
  expect_err_has "interrupted"
  expect "no root, whole or half" nothing_made
}

case_a_killed_maker_leaves_no_whole_root() {
  interrupted KILL 137
  call dev --where
  expect "no whole root" test ! -e "$out"
  stand_in mmdebstrap <<<$'#!/bin/sh\nexit 1'
  call dev true
  expect "the next call clears up" nothing_made
}

case_clean_removes_what_is_not_used() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  set_up
  call dev --where
  local root=$out
  mkdir -p "$root/etc" "$cache/trixie-0000/etc" "$root.partial.77/etc" "$cache/ccache"
  call dev --clean
  expect_status 0
  expect "the current root stays" test -d "$root/etc"
  expect "the compiler cache stays" test -d "$cache/ccache"
  expect "others are gone" test "$(ls -d "$cache"/trixie-*)" = "$root"
}

run_case "$@"
