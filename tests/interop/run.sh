#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/interop/run.sh [--only TEXT] [PART…]   Kafka clients against the broker; ./test.sh runs it
#   wire      what broke other brokers, by symptom, over a plain socket
#   dump-log  Apache Kafka's kafka-dump-log reads the segments before and after compaction
#   tools     kafka-topics, kafka-get-offsets, console producer, verifiable producer over kill -9
#   clients   kcat, kafka-python and confluent-kafka (two versions each), Java: each codec,
#             idempotent, by offset and time, across compacted gaps; each reads what each wrote
#   packages  a Debian package index through three clients, twice over, against its table
#   --only    checks whose name has TEXT in it
#
# Prints `ok NAME`, `FAILED NAME: why` or `skipped NAME: reason` for each check, and last
# `N passed, N failed, N skipped`. Debian's packages are those of tools/install-packages --test; the
# newest Python clients and the Java ones are brought to build/interop by pip and Maven. A client
# that cannot be had is skipped. LASTWORD_BIN_DIR: where lastwordd is (build/release).
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../../build/interop
if [ "${1-}" = -h ] || [ "${1-}" = --help ]; then
  sed -n '4,17s/^# \{0,1\}//p' "$here/run.sh"
  exit 0
fi
mkdir -p "$build"
build=$(cd "$build" && pwd)

# once NAME INPUT COMMAND…: runs the command unless it succeeded before with that very input. What
# it could not bring shows as skipped checks.
once() {
  local name=$1 input=$2 mark=$build/$1.done
  shift 2
  if ! cmp -s "$input" "$mark"; then
    rm -f "$mark"
    if "$@" >"$build/$name.log" 2>&1; then
      cp "$input" "$mark"
    else
      echo "# $name: did not work, see $build/$name.log" >&2
    fi
  fi
}

python_clients() {
  rm -rf "$build/venv"
  /usr/bin/python3 -m venv "$build/venv" &&
    timeout 300 "$build/venv/bin/pip" install --disable-pip-version-check \
      -r "$here/requirements.txt"
}

java_clients() {
  rm -rf "$build/java/lib"
  timeout 400 mvn -B -q -f "$here/java/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$build/java/lib"
}

java_driver() {
  rm -rf "$build/java/classes"
  timeout 120 javac -cp "$build/java/lib/*" -d "$build/java/classes" "$here/java/Driver.java"
}

once python-clients "$here/requirements.txt" python_clients
once java-clients "$here/java/pom.xml" java_clients
once java-driver "$here/java/Driver.java" java_driver

PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 "$here/interop.py" "$@"
