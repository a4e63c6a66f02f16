# SPDX-License-Identifier: Apache-2.0
"""A lastwordd of our own: on a free port of the loopback, over a folder that goes in the end."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import wire
from report import wait_until

PROGRAMS = pathlib.Path(os.environ.get("LASTWORD_BIN_DIR") or
                        pathlib.Path(__file__).resolve().parents[2] / "build/release").resolve()

# Everything that is due happens at once, so that the tests need not wait for it.
QUICK = {"cleaner": {"interval_ms": 100}, "retention_check_interval_ms": 100}


def compacted(**changes):
    """Settings of a topic whose records are compacted as soon as they are there."""
    return {"cleanup.policy": "compact", "segment.ms": "300", "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0", **changes}


_live = set()


def stop_all_at_once(number, _):
    """A signal handler: leaves no broker and no folder behind. Drivers end with their input."""
    for broker in list(_live):
        if broker.process is not None:
            broker.process.kill()
        shutil.rmtree(broker.folder, ignore_errors=True)
    os._exit(128 + number)


class Broker:
    """Use it in a `with`: it is stopped (and its exit code looked at) when the block ends."""

    def __init__(self, settings=None, listen="127.0.0.1:0"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lastword-interop-"))
        self.data = self.folder / "data"
        self.listen = listen
        self.port = 0
        self.process = None
        (self.folder / "settings.json").write_text(json.dumps({**QUICK, **(settings or {})}))

    def __enter__(self):
        _live.add(self)
        try:
            self.start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is not None and self.process is not None:
                print(f"# the broker said last: {self.log_tail()}", flush=True)
            if self.process is not None:
                code = self.stop()
                if kind is None:
                    assert code == 0, f"lastwordd ended with exit code {code}: {self.log_tail()}"
        finally:
            if self.process is not None:
                self.kill()
            _live.discard(self)
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        """Starts it; again after `kill` or `stop`, then on the port that it had."""
        log = self.folder / "log"
        began = log.stat().st_size if log.exists() else 0
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                [PROGRAMS / "lastwordd", "--config", self.folder / "settings.json",
                 "--data-dir", self.data, "--listen", self.listen],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)

        def ready():
            assert self.process.poll() is None, f"lastwordd did not start: {self.log_tail()}"
            return re.search(rb"ready: listening.*\(port (\d+)\)", log.read_bytes()[began:])

        self.port = int(wait_until(ready, "lastwordd is ready")[1])
        host = self.listen.rsplit(":", 1)[0]
        self.listen = f"{host}:{self.port}"
        wait_until(self._is_loaded, "all partitions are loaded")

    def _is_loaded(self):
        """Partitions are opened in the background; until then they answer with a code to retry."""
        with self.connect() as connection:
            topics = connection.request("Metadata", 9, {"topics": None})["topics"]
            answer = connection.request("ListOffsets", 7, {"replica_id": -1, "topics": [
                {"name": topic["name"], "partitions": [
                    {"partition_index": p["partition_index"], "timestamp": -1}
                    for p in topic["partitions"]]} for topic in topics]})
        return all(partition["error_code"] == 0
                   for topic in answer["topics"] for partition in topic["partitions"])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        finally:
            if self.process.poll() is not None:
                self.process = None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def log_tail(self):
        return (self.folder / "log").read_text(errors="replace")[-1500:]

    def partition_folder(self, topic, partition=0):
        return self.data / f"{topic}-{partition}"

    def connect(self):
        return wire.Connection("127.0.0.1", self.port)

    def create_topic(self, name, configs=None, partitions=1):
        with self.connect() as connection:
            answer = connection.request("CreateTopics", 7, {"topics": [{
                "name": name, "num_partitions": partitions, "replication_factor": 1,
                "configs": [{"name": k, "value": str(v)} for k, v in (configs or {}).items()]}]})
        topic = answer["topics"][0]
        assert topic["error_code"] == 0, f"topic {name}: {topic['error_message']}"
        return topic["topic_id"]

    def delete_topic(self, name):
        with self.connect() as connection:
            answer = connection.request("DeleteTopics", 6, {"topics": [{"name": name}]})
        assert answer["responses"][0]["error_code"] == 0, answer

    def high_watermark(self, topic, partition=0):
        with self.connect() as connection:
            return connection.list_offset(topic, -1, partition)
