# SPDX-License-Identifier: Apache-2.0
"""The clients that people use, each driven through a program of its own (see drivers/steps.py)."""
import json
import os
import pathlib
import selectors
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build/interop"
DEBIAN_PYTHON = "/usr/bin/python3"
OUR_PYTHON = BUILD / "venv/bin/python"
JAVA_LIBRARIES = BUILD / "java/lib"
STEP_SECONDS = 300


def java_command(main, *options):
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m",
            "-cp", f"{BUILD / 'java/classes'}:{JAVA_LIBRARIES}/*", *options, main]


class Kind:
    """A client that may be here or not: `why_not` is empty if it is."""

    def __init__(self, name, command, module=None):
        self.name, self.command, self.module = name, command, module

    def why_not(self):
        if self.name == "java":
            if shutil.which("java") is None:
                return "there is no java"
            if not (BUILD / "java/classes/Driver.class").exists():
                return "Maven could not bring the Java client, or it did not compile"
            return ""
        program = shutil.which(str(self.command[0]))
        if program is None:
            return f"there is no {self.command[0]}"
        if self.name == "kcat":
            return "" if shutil.which("kcat") else "there is no kcat"
        found = subprocess.run([program, "-c", f"import {self.module}"], capture_output=True,
                               check=False)
        return "" if found.returncode == 0 else f"{program} has no module {self.module}"


def _driver(python, name):
    return [python, str(HERE / "drivers" / f"{name}.py")]


KINDS = [
    Kind("kcat", _driver(DEBIAN_PYTHON, "kcat")),
    Kind("kafka-python-debian", _driver(DEBIAN_PYTHON, "kafka_python"), "kafka"),
    Kind("kafka-python-newest", _driver(OUR_PYTHON, "kafka_python"), "kafka"),
    Kind("confluent-debian", _driver(DEBIAN_PYTHON, "confluent"), "confluent_kafka"),
    Kind("confluent-newest", _driver(OUR_PYTHON, "confluent"), "confluent_kafka"),
    Kind("java", java_command("Driver")),
]


class Client:
    """A running driver. `ask` returns its answer, or raises what went wrong in it."""

    def __init__(self, kind, address):
        self.name = kind.name
        self._errors = open(BUILD / f"{kind.name}.stderr", "ab")
        self._process = subprocess.Popen([*kind.command, address], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=self._errors)
        os.set_blocking(self._process.stdout.fileno(), False)
        try:
            self.about = self.ask("about")
        except Exception:
            self.close()
            raise

    def ask(self, what, **step):
        line = json.dumps({"do": what, **step}).encode() + b"\n"
        self._process.stdin.write(line)
        self._process.stdin.flush()
        answer = json.loads(self._read_line())
        assert "error" not in answer, f"{self.name}: {answer['error']}"
        return answer

    def _read_line(self):
        pieces = []
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                assert selector.select(STEP_SECONDS), f"{self.name}: no answer"
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                assert piece, f"{self.name}: the driver ended, see {self._errors.name}"
                pieces.append(piece)
                if piece.endswith(b"\n"):
                    return b"".join(pieces)

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()


class Clients:
    """All that are here, started on first use; in a `with`."""

    def __init__(self, address):
        self._address = address
        self._running = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self._running.values():
            client.close()

    def get(self, kind):
        if kind.name not in self._running:
            self._running[kind.name] = Client(kind, self._address)
        return self._running[kind.name]
