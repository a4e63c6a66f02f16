# SPDX-License-Identifier: Apache-2.0
"""What the checks over a plain socket have in common.

They ask for what broke other brokers or their clients; each is named by its symptom.
"""
import batches
from report import expect_equal

CLIENT = {"client_software_name": "interop", "client_software_version": "1.0"}


class WireChecks:
    """Every method `check_NAME` is a check; all have one broker, and topics of their own."""

    def __init__(self, report, broker):
        self.report = report
        self.broker = broker
        self.topic_id = None

    def run(self):
        for name in sorted(vars(type(self))):
            if name.startswith("check_"):
                self.report.run(name[len("check_"):], getattr(self, name))

    def topic(self, name, configs=None, partitions=1):
        self.topic_id = self.broker.create_topic(name, configs, partitions)
        return name

    def expect_closed(self, data, what):
        """The broker closes the connection without an answer, and goes on serving others."""
        with self.broker.connect() as connection:
            connection.send_bytes(data)
            assert connection.is_closed(), f"{what}: the connection was not closed"
        with self.broker.connect() as connection:
            connection.request("Metadata", 1, {"topics": []})

    def ranges(self):
        with self.broker.connect() as connection:
            answer = connection.request("ApiVersions", 3, CLIENT)
        return {k["api_key"]: (k["min_version"], k["max_version"]) for k in answer["api_keys"]}

    def create(self, version=7, **topic):
        with self.broker.connect() as connection:
            answer = connection.request("CreateTopics", version, {"topics": [topic]})
        return answer["topics"][0]

    def metadata(self, version=12, topics=None):
        with self.broker.connect() as connection:
            return connection.request("Metadata", version, {"topics": topics})

    def produce_one(self, topic, partition=0, **changes):
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch([(b"k", b"v")], **changes),
                                        partition=partition)
        expect_equal(answer["error_code"], 0, "error of a produce")
        return answer["base_offset"]
