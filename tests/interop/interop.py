# SPDX-License-Identifier: Apache-2.0
"""Runs the checks; see run.sh."""
import argparse
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "drivers"))

from broker import Broker, stop_all_at_once
from checks_clients import ClientChecks
from checks_dump_log import DumpChecks
from checks_fetch import FetchChecks
from checks_frames import FrameChecks
from checks_packages import PackageChecks
from checks_produce import ProduceChecks
from checks_tools import ToolChecks
from report import Report


def run_wire(report):
    with Broker() as broker:
        for checks in (FrameChecks, ProduceChecks, FetchChecks):
            checks(report, broker).run()


def run_clients(report):
    dump = DumpChecks(report)
    ClientChecks(report).run(
        lambda broker, topics: dump.check_topics(
            broker, [topic for topic in topics if topic.startswith("plain")], "before_compaction"),
        lambda broker, topics: dump.check_topics(broker, topics, "after_compaction"))


PARTS = {
    "wire": run_wire,
    "dump-log": lambda report: DumpChecks(report).run(),
    "tools": lambda report: ToolChecks(report).run(),
    "clients": run_clients,
    "packages": lambda report: PackageChecks(report).run(),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="checks whose name has this in it")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all if none")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part named {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    signal.signal(signal.SIGTERM, stop_all_at_once)
    signal.signal(signal.SIGINT, stop_all_at_once)
    report = Report(options.only)
    for name in options.parts or PARTS:
        began = time.monotonic()
        with report.check(f"part_{name}_runs_through"):
            PARTS[name](report)
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)
    print(report.summary())
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
