#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ./run.sh [OPTIONS OF lastwordd]   install what is missing, build, start the broker here
# ./run.sh --build-only             install what is missing and build; start nothing
# ./run.sh demo                     play the life of one deleted key in a few seconds
# ./run.sh --help                   this text
#
# The broker runs with config/lastword.json and listens on 127.0.0.1:9092; stop it with Ctrl-C.
# Its data is in ./data, or where LASTWORD_DATA_DIR says. The programs are build/release/lastwordd
# and build/release/lastword. Example: ./run.sh --listen 127.0.0.1:9192
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"

action=start
case ${1-} in
  -h | --help) sed -n '4,11s/^# \{0,1\}//p' run.sh; exit 0 ;;
  --build-only) action=build; shift ;;
  demo) action=demo; shift ;;
esac

tools/install-packages --build

mkdir -p build
if ! cmake --preset release >build/release-configure.log 2>&1; then
  cat build/release-configure.log >&2
  exit 1
fi
[ -x build/release/lastwordd ] || echo "Building; the first time takes a few minutes." >&2
quiet=(-- --quiet)
[ ! -t 2 ] || quiet=()
cmake --build build/release --target lastwordd lastword "${quiet[@]}" >&2

case $action in
  build) ;;
  demo) exec tools/demo "$@" ;;
  start)
    data=${LASTWORD_DATA_DIR:-$PWD/data}
    mkdir -p "$data"
    exec build/release/lastwordd --config config/lastword.json --data-dir "$data" "$@"
    ;;
esac
