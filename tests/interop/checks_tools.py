# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's command line tools against the broker, one of them over kills of the broker."""
import json
import re
import shutil
import subprocess

import kafka_tools
from broker import Broker
from clients import KINDS, Clients
from report import Skip, expect_equal, wait_until
from steps import to_bytes

RECORDS, PER_SECOND, KILLS = 12_000, 3000, 3


class ToolChecks:
    def __init__(self, report):
        self.report = report

    def run(self):
        with Broker() as self.broker:
            self.report.run("kcat_lists_topics", self._kcat)
            self.report.run("kafka_topics_creates_lists_describes_and_deletes", self._topics)
            self.report.run("kafka_console_producer_and_kafka_get_offsets", self._console)
            self.report.run("kafka_verifiable_producer_over_kill_9", self._verifiable)

    def _tool(self, tool, *arguments, **options):
        return kafka_tools.run(tool, "--bootstrap-server", self.broker.address, *arguments,
                               **options)

    def _kcat(self):
        if shutil.which("kcat") is None:
            raise Skip("there is no kcat")
        self.broker.create_topic("with-three", partitions=3)
        told = subprocess.run(["kcat", "-b", self.broker.address, "-L"], capture_output=True,
                              text=True, timeout=30, check=True).stdout
        assert f"broker 1 at {self.broker.address} (controller)" in told, told
        assert 'topic "with-three" with 3 partitions' in told, told

    def _topics(self):
        self._tool("topics", "--create", "--topic", "by-default")
        self._tool("topics", "--create", "--topic", "by-hand", "--partitions", 3,
                   "--replication-factor", 1, "--config", "cleanup.policy=compact")
        again = self._tool("topics", "--create", "--topic", "by-hand", may_fail=True)
        assert "TopicExistsException" in again, again[-300:]
        listed = self._tool("topics", "--list").split()
        assert {"by-default", "by-hand"} <= set(listed), listed
        told = self._tool("topics", "--describe", "--topic", "by-hand")
        assert re.search(r"PartitionCount: 3\b.*cleanup.policy=compact", told), told
        assert len(re.findall(r"Partition: \d\s+Leader: 1\b", told)) == 3, told
        self._tool("topics", "--delete", "--topic", "by-hand")
        assert "by-hand" not in self._tool("topics", "--list").split()

    def _console(self):
        self.broker.create_topic("console")
        for codec in ("none", "zstd"):
            self._tool("console-producer", "--topic", "console", "--compression-codec", codec,
                       "--reader-property", "parse.key=true", "--reader-property",
                       "key.separator=:", data=b"a:1\nb:2\nc:3\n")
        for time_, offset in ((-1, 6), (-2, 0)):
            told = self._tool("get-offsets", "--topic", "console", "--time", time_)
            assert f"console:0:{offset}" in told.split(), told
        told = self._tool("get-offsets", "--topic", "console", "--time", -3)
        assert re.search(r"console:0:[0-5]\b", told), told

    def _verifiable(self):
        """Every acknowledged record is there once, at the offset that was acknowledged."""
        kafka_tools.need()
        topic = "verified"
        self.broker.create_topic(topic)
        settings = self.broker.folder / "producer.properties"
        # The tool itself sets retries to 0, which excludes idempotence.
        settings.write_text("enable.idempotence=true\nretries=2147483647\nlinger.ms=2\n"
                            "request.timeout.ms=3000\ndelivery.timeout.ms=60000\n"
                            "retry.backoff.ms=50\nreconnect.backoff.max.ms=200\n")
        output = self.broker.folder / "verified.out"
        with open(output, "wb") as file:
            producer = subprocess.Popen(
                kafka_tools.command("verifiable-producer", "--bootstrap-server",
                                    self.broker.address, "--topic", topic, "--max-messages",
                                    RECORDS, "--throughput", PER_SECOND, "--acks", -1,
                                    "--command-config", settings),
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        try:
            for kill in range(KILLS):
                enough = RECORDS * (kill + 1) // (KILLS + 2)
                wait_until(lambda: self._acknowledged(output) > enough or
                           producer.poll() is not None, f"{enough} acknowledged records", 60)
                assert producer.poll() is None, output.read_text()[-500:]
                self.broker.kill()
                self.broker.start()
            code = producer.wait(120)
        finally:
            if producer.poll() is None:
                producer.kill()
                producer.wait()
        self._compare(topic, self._acknowledgements(output, code))

    @staticmethod
    def _acknowledgements(output, code):
        """Value -> offset; there may be no failures."""
        lines = [json.loads(line) for line in output.read_text().splitlines()
                 if line.startswith("{")]
        acknowledged = {line["value"]: line["offset"] for line in lines
                        if line["name"] == "producer_send_success"}
        failed = [line for line in lines if line["name"] == "producer_send_error"]
        assert not failed and code == 0, f"{len(failed)} records failed, exit code {code}: " \
                                         f"{failed[:1]}"
        expect_equal(len(acknowledged), RECORDS, "acknowledged records")
        return acknowledged

    @staticmethod
    def _acknowledged(output):
        return output.read_bytes().count(b"producer_send_success")

    def _compare(self, topic, acknowledged):
        java = next(kind for kind in KINDS if kind.name == "java")
        with Clients(self.broker.address) as clients:
            records = clients.get(java).ask("consume", topic=topic, offset=0)["records"]
        stored = {}
        for offset, _, _, value, _ in records:
            text = to_bytes(value).decode()
            assert text not in stored, f"{text} is stored at {stored[text]} and at {offset}"
            stored[text] = offset
        wrong = {value for value, offset in acknowledged.items() if stored.get(value) != offset}
        assert not wrong, f"{len(wrong)} acknowledged records are not where they were " \
                          f"acknowledged: {sorted(wrong)[:3]}"
