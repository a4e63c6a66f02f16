# SPDX-License-Identifier: Apache-2.0
"""Runs the checks; see run.sh."""
import argparse
import sys
import time

import checks_clients
import checks_packages
import checks_wire
from report import Report

PARTS = {
    "wire": lambda report: checks_wire.WireChecks(report).run(),
    "clients": lambda report: checks_clients.ClientChecks(report).run(),
    "packages": lambda report: checks_packages.PackageChecks(report).run(),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="checks whose name has this in it")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    options = parser.parse_args()
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
