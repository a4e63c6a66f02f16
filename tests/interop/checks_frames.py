# SPDX-License-Identifier: Apache-2.0
"""Frames, versions, ApiVersions, Metadata: see wire_checks.py."""
import struct
import subprocess
import uuid

import batches
from broker import PROGRAMS, Broker
from report import expect_equal
from wire import APIS, decode, fetch_body, frame, produce_body
from wire_checks import CLIENT, WireChecks

NO_ID = uuid.UUID(int=0)
TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(160)


class FrameChecks(WireChecks):
    def check_oversize_frame_is_closed_unread(self):
        self.expect_closed(struct.pack(">i", 2**31 - 1), "size 2^31-1")

    def check_negative_size_is_closed(self):
        self.expect_closed(struct.pack(">i", -5), "size -5")

    def check_frame_of_no_bytes_is_closed(self):
        self.expect_closed(struct.pack(">i", 0), "size 0")

    def check_tls_hello_is_closed(self):
        self.expect_closed(TLS_HELLO, "TLS hello")

    def check_http_request_is_closed(self):
        self.expect_closed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP")

    def check_unknown_api_is_closed(self):
        self.expect_closed(struct.pack(">ihhih", 10, 999, 0, 1, -1), "API 999")

    def check_produce_2_is_advertised_but_closed(self):
        expect_equal(self.ranges()[APIS["Produce"].key][0], 0, "lowest Produce version")
        self.expect_closed(struct.pack(">ihhih", 10, APIS["Produce"].key, 2, 1, -1), "Produce 2")

    def check_version_that_is_not_offered_is_closed(self):
        for key, (_, last) in self.ranges().items():
            if key != APIS["ApiVersions"].key:
                data = struct.pack(">hhih", key, last + 1, 1, -1) + b"\0"
                self.expect_closed(struct.pack(">i", len(data)) + data, f"API {key} v{last + 1}")

    def check_request_cut_short_is_closed(self):
        whole = frame("Metadata", 12, {"topics": None})[4:]
        self.expect_closed(struct.pack(">i", len(whole) - 4) + whole[:-4], "short Metadata")

    def check_half_a_frame_and_gone_hurts_nobody(self):
        with self.broker.connect() as connection:
            connection.send_bytes(frame("Metadata", 12, {"topics": None})[:-3])
        self.metadata()

    def check_every_version_of_every_api_is_laid_out_exactly(self):
        topic = self.topic("exact")
        self.produce_one(topic)
        bodies = {
            "Produce": lambda v: produce_body(topic, batches.batch([(b"k", b"v")])),
            "Fetch": lambda v: fetch_body(self.topic_id if v >= 13 else topic, 0),
            "ListOffsets": lambda v: {"replica_id": -1, "topics": [{"name": topic, "partitions": [
                {"partition_index": 0, "timestamp": -1}]}]},
            "Metadata": lambda v: {"topics": [{"name": topic}]},
            "FindCoordinator": lambda v: {"key": "g"} if v < 4 else {"coordinator_keys": ["g"]},
            "ApiVersions": lambda v: CLIENT if v >= 3 else {},
            "CreateTopics": lambda v: {"topics": [{"name": f"exact-{v}", "num_partitions": 1,
                                                   "replication_factor": 1}]},
            "DeleteTopics": lambda v: {"topics": [{"name": f"exact-{v}"}]} if v >= 6 else
            {"topic_names": [f"exact-{v}"]},
            "InitProducerId": lambda v: {},
            "OffsetForLeaderEpoch": lambda v: {"topics": [{"topic": topic, "partitions": [
                {"partition": 0, "leader_epoch": 0}]}]},
            "DescribeConfigs": lambda v: {"resources": [
                {"resource_type": 2, "resource_name": topic}], "include_synonyms": True},
        }
        ranges = self.ranges()
        with self.broker.connect() as connection:
            for name, body in bodies.items():
                first, last = ranges[APIS[name].key]
                for version in range(3 if name == "Produce" else first, last + 1):
                    try:
                        connection.request(name, version, body(version))
                    except Exception as error:
                        raise AssertionError(f"{name} v{version}: {error!r}") from error

    def check_null_client_id_is_served(self):
        with self.broker.connect() as connection:
            connection.request("Metadata", 12, {"topics": None}, client_id=None)
            connection.request("Metadata", 1, {"topics": None}, client_id=None)

    def check_answers_come_in_order_of_100_pipelined_requests(self):
        topic = self.topic("order")
        with self.broker.connect() as connection:
            sent = []
            for number in range(100):
                if number % 3 == 0:
                    body = fetch_body(topic, 1000 + number, max_wait_ms=5)
                    sent.append(("Fetch", 11, connection.send("Fetch", 11, body)))
                elif number % 3 == 1:
                    body = produce_body(topic, batches.batch([(b"k", b"v")]))
                    sent.append(("Produce", 9, connection.send("Produce", 9, body)))
                else:
                    sent.append(("Metadata", 12, connection.send("Metadata", 12, {})))
            for api, version, correlation in sent:
                connection.receive(api, version, correlation)

    # ApiVersions

    def check_api_versions_99_is_answered_in_the_layout_of_0(self):
        with self.broker.connect() as connection:
            connection.send_bytes(frame("ApiVersions", 99, CLIENT, correlation=7))
            answer = decode(connection.receive_frame(), "ApiVersions", 0, 7)
            expect_equal(answer["error_code"], 35, "error code")
            expect_equal([k["api_key"] for k in answer["api_keys"]], [18], "keys")
            expect_equal(connection.request("ApiVersions", answer["api_keys"][0]["max_version"],
                                            CLIENT)["error_code"], 0, "second try")

    def check_api_versions_works_in_the_middle_of_a_connection(self):
        with self.broker.connect() as connection:
            connection.request("Metadata", 12, {})
            for version in (0, 1, 2, 3, 4, 0):
                answer = connection.request("ApiVersions", version, CLIENT if version >= 3 else {})
                expect_equal(answer["error_code"], 0, f"error of ApiVersions {version}")

    def check_api_versions_with_a_bad_client_name_is_told_so_in_its_own_version(self):
        with self.broker.connect() as connection:
            answer = connection.request("ApiVersions", 3, {
                "client_software_name": "-bad name-", "client_software_version": "1"})
        expect_equal(answer["error_code"], 42, "error code")

    def check_features_are_not_sent(self):
        for version in (3, 4):
            with self.broker.connect() as connection:
                answer = connection.request("ApiVersions", version, CLIENT)
            expect_equal((answer["supported_features"], answer["finalized_features"]), ([], []),
                         "features")

    def check_compression_is_not_silently_off(self):
        """What librdkafka wants to see before it compresses; see also the stored codecs."""
        ranges = self.ranges()
        expect_equal(ranges[APIS["Produce"].key][0], 0, "lowest Produce version")
        expect_equal(ranges[APIS["FindCoordinator"].key][0], 0, "lowest FindCoordinator version")
        assert ranges[APIS["Produce"].key][1] >= 7, "zstd wants Produce 7"
        assert ranges[APIS["Fetch"].key][1] >= 10, "zstd wants Fetch 10"

    def check_fetch_12_that_some_clients_send_unasked_is_offered(self):
        assert self.ranges()[APIS["Fetch"].key][1] >= 12

    def check_produce_13_is_not_offered_without_being_served(self):
        expect_equal(self.ranges()[APIS["Produce"].key], (0, 12), "Produce range")

    def check_nothing_half_done_is_offered(self):
        offered = set(self.ranges())
        not_here = {24, 25, 26, 27, 28, 68, 69, 71, 72}
        expect_equal(sorted(offered & not_here), [], "APIs that must not be advertised")

    def check_old_probe_of_api_versions_0_and_metadata_0_works_pipelined(self):
        topic = self.topic("probe")
        with self.broker.connect() as connection:
            first = connection.send("ApiVersions", 0, {})
            second = connection.send("Metadata", 0, {"topics": []})
            connection.receive("ApiVersions", 0, first)
            answer = connection.receive("Metadata", 0, second)
        assert topic in [t["name"] for t in answer["topics"]], "an empty list asks for all"

    # Metadata

    def check_metadata_1_tells_null_from_empty(self):
        self.topic("listed")
        for version in (1, 4, 9, 12):
            assert self.metadata(version, None)["topics"], f"v{version}: null is all"
            expect_equal(self.metadata(version, [])["topics"], [], f"v{version}: empty is none")

    def check_cluster_id_is_there_and_stays(self):
        before = self.metadata(2)["cluster_id"]
        assert before, "no cluster id"
        with Broker() as broker:
            with broker.connect() as connection:
                first = connection.request("Metadata", 2, {"topics": []})
            broker.stop()
            broker.start()
            with broker.connect() as connection:
                second = connection.request("Metadata", 2, {"topics": []})
        expect_equal(second["cluster_id"], first["cluster_id"], "cluster id after a restart")

    def check_topic_ids_are_there_where_fetch_wants_them(self):
        topic = self.topic("with-id")
        known = self.metadata(12, [{"name": topic}])["topics"][0]
        assert known["topic_id"] not in (NO_ID, uuid.UUID(int=1)), known
        by_id = self.metadata(12, [{"topic_id": known["topic_id"], "name": None}])["topics"][0]
        expect_equal((by_id["error_code"], by_id["name"]), (0, topic), "by id")
        unknown = self.metadata(12, [{"topic_id": uuid.uuid4(), "name": None}])["topics"][0]
        expect_equal((unknown["error_code"], unknown["name"]), (100, None), "unknown id")

    def check_recreated_topic_has_another_id_and_no_lower_epoch(self):
        topic = self.topic("again")
        before = self.metadata(12, [{"name": topic}])["topics"][0]
        self.broker.delete_topic(topic)
        gone = self.metadata(12, [{"name": topic}])["topics"][0]
        expect_equal(gone["error_code"], 3, "error right after the delete")
        self.topic(topic)
        after = self.metadata(12, [{"name": topic}])["topics"][0]
        assert before["topic_id"] != after["topic_id"], "the same id again"
        assert after["partitions"][0]["leader_epoch"] >= before["partitions"][0]["leader_epoch"]

    def check_unknown_topic_is_not_left_out_of_metadata(self):
        answer = self.metadata(9, [{"name": "nobody"}, {"name": "bad name!"}])
        expect_equal({t["name"]: t["error_code"] for t in answer["topics"]},
                     {"nobody": 3, "bad name!": 17}, "errors")

    def check_auto_created_topic_can_be_used_at_once(self):
        with Broker({"auto_create_topics": True}) as broker, broker.connect() as connection:
            answer = connection.request("Metadata", 4, {"topics": [{"name": "made"}]})
            topic = answer["topics"][0]
            expect_equal((topic["error_code"], len(topic["partitions"])), (0, 1), "made")
            expect_equal(connection.produce("made", batches.batch([(b"k", b"v")]))["error_code"], 0,
                         "error of a produce")
            answer = connection.request("Metadata", 4, {
                "topics": [{"name": "unwanted"}], "allow_auto_topic_creation": False})
            expect_equal(answer["topics"][0]["error_code"], 3, "creation was not allowed")

    def check_wildcard_listener_does_not_advertise_the_wildcard(self):
        with Broker(listen="0.0.0.0:0") as broker, broker.connect() as connection:
            answer = connection.request("Metadata", 12, {"topics": []})
        expect_equal([b["host"] for b in answer["brokers"]], ["127.0.0.1"], "advertised hosts")
        done = subprocess.run(
            [PROGRAMS / "lastwordd", "--config", "/dev/stdin", "--check-config"],
            input='{"advertise": "0.0.0.0:9092"}', capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "advertise" in done.stderr, done

    def check_find_coordinator_repeats_the_advertised_address(self):
        node = self.metadata()["brokers"][0]
        with self.broker.connect() as connection:
            answer = connection.request("FindCoordinator", 2, {"key": "some-group"})
        expect_equal((answer["error_code"], answer["node_id"], answer["host"], answer["port"]),
                     (0, node["node_id"], node["host"], node["port"]), "coordinator")
