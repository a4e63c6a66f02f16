#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ./test.sh            install what is missing, build, run every part
# ./test.sh PART…      only these parts, out of:
#   unit     layout; g++ build with warnings as errors; unit tests, house rules, fuzzer bodies
#   model    the broker's storage and cleaner against a map and a list, by seed
#   crash    stop at every write and sync, reopen, compare
#   demo     ./run.sh demo
#   interop  Kafka clients as people use them, against build/release/lastwordd
#   clang    clang build with thread-safety analysis; unit tests of what it compiles
#   asan     all tests under the address and undefined behaviour sanitizers
#   tsan     the tests of whatever has threads under the thread sanitizer
#   fuzz     each fuzzer for LASTWORD_FUZZ_SECONDS (20)
#   bench    each benchmark once, briefly: that it runs, not how fast
#
# Goes on after a failure. The last line sums up: N passed, N failed[, N skipped]
set -u
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1

all_parts=(unit model crash demo interop clang asan tsan fuzz bench)
fuzz_seconds=${LASTWORD_FUZZ_SECONDS:-20}
jobs=$(nproc)
passed=0 failed=0 skipped=0
summary=()

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  echo "FAILED: $*"
}
have() { compgen -G "$1" >/dev/null; }

# build PRESET [TARGET…]: counts as one test. Goes on past the first error, to show all of them.
build() {
  local preset=$1 log=build/test-logs/build-$1.log
  shift
  if cmake --preset "$preset" >"$log" 2>&1 &&
    cmake --build "build/$preset" ${1:+--target "$@"} -- -k 0 >>"$log" 2>&1; then
    pass
    return 0
  fi
  grep -E 'error|FAILED|undefined reference|No such file' "$log" | head -n 60
  tail -n 5 "$log"
  fail "build of preset $preset (whole log: $log)"
  return 1
}

# ctest_run PRESET SELECTION…: runs ctest, then adds up what each GoogleTest program reports.
ctest_run() {
  local preset=$1 results=build/test-logs/$1
  shift
  rm -rf "$results"
  mkdir -p "$results"
  GTEST_OUTPUT="xml:$PWD/$results/" \
    "${aslr_off[@]}" ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure \
    --no-tests=ignore --output-junit "$PWD/$results/ctest.junit" "$@"
  count_results "$results"
}

# A program that died wrote no report; ctest knows, and it counts as one failure.
count_results() {
  local results=$1 line name report tests failures skips
  [ -e "$results/ctest.junit" ] || return 0
  while read -r line; do
    name=$(sed -E 's/.*name="([^"]*)".*/\1/' <<<"$line")
    report=$results/$name.xml
    tests=0 failures=0 skips=0
    if [ -e "$report" ]; then
      tests=$(grep -m1 '<testsuites ' "$report" | sed -E 's/.* tests="([0-9]+)".*/\1/')
      failures=$(grep -m1 '<testsuites ' "$report" | sed -E 's/.* failures="([0-9]+)".*/\1/')
      skips=$(grep -c 'result="skipped"' "$report")
    fi
    passed=$((passed + tests - failures - skips))
    failed=$((failed + failures))
    skipped=$((skipped + skips))
    if ! grep -q 'status="run"' <<<"$line" && [ "$failures" = 0 ]; then
      fail "$name ended without a report of what failed"
    fi
  done < <(grep '<testcase ' "$results/ctest.junit")
}

# test_targets FOLDER…: the test programs of those folders that have tests.
test_targets() {
  local folder
  for folder in "$@"; do
    if have "tests/$folder/*.cpp"; then echo "${folder}_test"; fi
  done
}

dev_built=
build_dev() {
  [ -z "$dev_built" ] || return 0
  dev_built=yes
  build dev all headers_alone
}

release_built=
build_release() {
  [ -z "$release_built" ] || return 0
  release_built=yes
  build release lastwordd lastword
}

run_unit() {
  if tools/format --check; then pass; else fail "tools/format --check"; fi
  build_dev
  ctest_run dev -L 'unit|tidy|fuzz'
}

run_model() {
  have 'tests/model/*.cpp' || return 0
  build_dev
  ctest_run dev -L model
}

run_crash() {
  have 'tests/crash/*.cpp' || return 0
  build_dev
  ctest_run dev -L crash
}

run_demo() {
  [ -x tools/demo ] || return 0
  build_release
  if timeout 120 ./run.sh demo; then pass; else fail "./run.sh demo"; fi
}

run_interop() {
  [ -e tests/interop/run.sh ] || return 0
  build_release
  local log=build/test-logs/interop.log status line counts
  timeout 1500 bash tests/interop/run.sh </dev/null 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
  if [ -z "$line" ]; then
    fail "tests/interop/run.sh ended (exit code $status) without its summary"
    return
  fi
  read -r -a counts <<<"$(tr -c '0-9\n' ' ' <<<"$line")"
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skipped=$((skipped + ${counts[2]:-0}))
  if [ "$status" != 0 ] && [ "${counts[1]}" = 0 ]; then
    fail "tests/interop/run.sh ended with exit code $status"
  fi
}

run_clang() {
  local targets
  mapfile -t targets < <(test_targets protocol config storage cleaner)
  build clang wire options config_load storage cleaner headers_alone "${targets[@]}"
  ctest_run clang -R '^(protocol|config|storage|cleaner)_test$'
}

run_asan() {
  build asan
  # Those that measure the daemon's memory measure nothing under a sanitizer.
  GTEST_FILTER='-Hostile.*' ctest_run asan -LE tidy
}

run_tsan() {
  build tsan storage_test cleaner_test server_test client_test
  GTEST_FILTER='-Hostile.*' ctest_run tsan -R '^(storage|cleaner|server|client)_test$'
}

# fuzz_one NAME: one fuzzer, from the kept inputs and those that earlier runs found.
fuzz_one() {
  local name=$1 found=build/fuzz/found/$1 log=build/test-logs/$1.log
  local seeds=tests/fuzz/corpus/$1 dictionary=tests/fuzz/$1.dict
  mkdir -p "$found" build/fuzz/artifacts
  local options=(-max_total_time="$fuzz_seconds" -rss_limit_mb=1024 -timeout=20
    -artifact_prefix=build/fuzz/artifacts/"$name"-)
  [ ! -e "$dictionary" ] || options+=(-dict="$dictionary")
  [ ! -d "$seeds" ] || found="$found $seeds"
  # shellcheck disable=SC2086  # two folders, both ours, without spaces
  timeout $((fuzz_seconds * 3 + 60)) "build/fuzz/fuzzers/$name" "${options[@]}" $found >"$log" 2>&1
}

run_fuzz() {
  have 'tests/fuzz/*.cpp' || return 0
  build fuzz fuzzers || return 0
  local names=() pids=() source i
  for source in tests/fuzz/*.cpp; do names+=("$(basename "$source" .cpp)"); done
  for ((i = 0; i < ${#names[@]}; i++)); do
    fuzz_one "${names[i]}" &
    pids+=($!)
    if [ $(((i + 1) % jobs)) = 0 ]; then wait "${pids[@]: -$jobs}"; fi
  done
  for ((i = 0; i < ${#names[@]}; i++)); do
    if wait "${pids[i]}"; then
      pass
      echo "${names[i]}: $(grep -E '^Done ' "build/test-logs/${names[i]}.log")"
    else
      tail -n 40 "build/test-logs/${names[i]}.log"
      fail "fuzzer ${names[i]} (its input is in build/fuzz/artifacts)"
    fi
  done
}

run_bench() {
  have 'tests/bench/*.cpp' || return 0
  build_release
  build release benches || return 0
  local program
  for program in build/release/bench/bench_*; do
    if timeout 180 "$program" --smoke >"build/test-logs/$(basename "$program").log" 2>&1; then
      pass
    else
      tail -n 20 "build/test-logs/$(basename "$program").log"
      fail "$program --smoke"
    fi
  done
}

parts=("$@")
for part in "${parts[@]}"; do
  case " ${all_parts[*]} " in
    *" $part "*) ;;
    *)
      if [ "$part" = -h ] || [ "$part" = --help ]; then
        sed -n '4,18s/^# \{0,1\}//p' test.sh
        exit 0
      fi
      echo "test.sh: no part named $part; there are: ${all_parts[*]}" >&2
      exit 2
      ;;
  esac
done
[ ${#parts[@]} -gt 0 ] || parts=("${all_parts[@]}")

mkdir -p build/test-logs
export ASAN_OPTIONS=${ASAN_OPTIONS-strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS-second_deadlock_stack=1}
# The thread sanitizer of g++ 12 cannot map its shadow where addresses are very random.
aslr_off=(env)
if setarch "$(uname -m)" -R true 2>/dev/null; then aslr_off=(setarch "$(uname -m)" -R); fi

if ! tools/install-packages --test; then fail "tools/install-packages --test"; fi

for part in "${parts[@]}"; do
  began=$SECONDS before_passed=$passed before_failed=$failed
  echo "--- $part"
  "run_$part"
  summary+=("$(printf '%-8s %5d passed %3d failed %5d s' "$part" $((passed - before_passed)) \
    $((failed - before_failed)) $((SECONDS - began)))")
done

echo
printf '%s\n' "${summary[@]}"
total="$passed passed, $failed failed"
[ "$skipped" = 0 ] || total+=", $skipped skipped"
echo "$total"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
