#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the benchmarks and runs them all: tests/bench/run.sh [--smoke]. Prints a table.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset release >/dev/null
cmake --build --preset release --target lastwordd benches >/dev/null
for program in build/release/bench/bench_*; do
  echo "== $(basename "$program")"
  "$program" "$@"
done
