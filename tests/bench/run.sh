#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/bench/run.sh           build the benchmarks, run them all
# tests/bench/run.sh --smoke   the same with little data: shows that they run, not how fast
# tests/bench/run.sh --help    this text
#
# Prints a table each: produce, fetch, acknowledged records a second, start and memory of the
# broker; speed and CPU time of compaction. The first build takes about ten minutes on two cores;
# the runs write up to 1 GB at a time to the folder for temporary files (TMPDIR).
# Needs the packages of: tools/install-packages --test
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case ${1-} in
  '' | --smoke) ;;
  -h | --help) sed -n '4,11s/^# \{0,1\}//p' tests/bench/run.sh; exit 0 ;;
  *) echo "run.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
esac
[ $# -le 1 ] || { echo "run.sh: too many options (see --help)" >&2; exit 2; }

mkdir -p build
log=build/bench-build.log
echo "Building; the first time takes about ten minutes ($log)." >&2
if ! { cmake --preset release && cmake --build --preset release --target lastwordd benches; } \
  >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  exit 1
fi
for program in build/release/bench/bench_*; do
  echo "== $(basename "$program")"
  "$program" "$@"
done
