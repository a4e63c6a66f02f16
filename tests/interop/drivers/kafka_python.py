# SPDX-License-Identifier: Apache-2.0
"""Steps through kafka-python: 2.0.2 under Debian's Python, the newest one in our environment."""
import sys

import kafka
from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd

import steps

NEW = int(kafka.__version__.split(".")[0]) >= 3


class Driver:
    def __init__(self, address):
        self.address = address
        self.followers = {}

    def about(self):
        have = {"gzip": has_gzip(), "snappy": has_snappy(), "lz4": has_lz4(), "zstd": has_zstd()}
        return {"name": f"kafka-python {kafka.__version__}", "idempotent": NEW,
                "codecs": ["none"] + [codec for codec, there in have.items() if there],
                "timestamps": True, "null_headers": False, "follows": True}

    def producer(self, codec="none", idempotent=False, batch_bytes=steps.BATCH_BYTES):
        options = {"enable_idempotence": idempotent, "delivery_timeout_ms":
                   steps.DELIVERY_SECONDS * 1000 + 1000} if NEW else {}
        return kafka.KafkaProducer(
            bootstrap_servers=self.address, acks="all", linger_ms=20, batch_size=batch_bytes,
            max_block_ms=steps.DELIVERY_SECONDS * 1000,
            request_timeout_ms=steps.DELIVERY_SECONDS * 1000,
            compression_type=None if codec == "none" else codec, **options)

    def consumer(self, **options):
        return kafka.KafkaConsumer(bootstrap_servers=self.address, group_id=None,
                                   auto_offset_reset="earliest", fetch_max_wait_ms=50, **options)

    def produce(self, topic, codec, idempotent, records, batch_bytes=steps.BATCH_BYTES):
        producer = self.producer(codec, idempotent, batch_bytes)
        sent = []
        for item in records:
            key, value, headers, timestamp = steps.record_of(item)
            sent.append(producer.send(topic, key=key, value=value, headers=headers,
                                      timestamp_ms=timestamp, partition=0))
        producer.flush(steps.DELIVERY_SECONDS)
        offsets = [future.get(10).offset for future in sent]
        producer.close()
        return {"offsets": offsets}

    def consume(self, topic, offset=None, timestamp=None, fetch_bytes=None):
        options = {} if fetch_bytes is None else {
            "fetch_max_bytes": fetch_bytes, "max_partition_fetch_bytes": fetch_bytes}
        consumer = self.consumer(**options)
        partition = kafka.TopicPartition(topic, 0)
        consumer.assign([partition])
        high_watermark = consumer.end_offsets([partition])[partition]
        if timestamp is not None:
            found = consumer.offsets_for_times({partition: timestamp})[partition]
            offset = high_watermark if found is None else found.offset
        consumer.seek(partition, offset)
        records = []
        deadline = steps.Deadline(f"reading {topic} to {high_watermark}")
        while (position := consumer.position(partition)) < high_watermark:
            deadline.check(f"position {position}, {len(records)} records")
            for batch in consumer.poll(timeout_ms=500).values():
                records += [steps.item_of(r.offset, r.timestamp, r.key, r.value, r.headers)
                            for r in batch]
        consumer.close()
        return {"records": records, "position": position, "high_watermark": high_watermark}

    def lookup(self, topic, timestamps):
        consumer = self.consumer()
        partition = kafka.TopicPartition(topic, 0)
        found = [consumer.offsets_for_times({partition: t})[partition] for t in timestamps]
        consumer.close()
        return {"offsets": [-1 if f is None else f.offset for f in found]}

    def follow(self, topic, value):
        if topic not in self.followers:
            consumer = self.consumer(metadata_max_age_ms=1000)
            consumer.assign([kafka.TopicPartition(topic, 0)])
            self.followers[topic] = (self.producer(), consumer)
        producer, consumer = self.followers[topic]
        deadline = steps.Deadline(f"following {topic}")
        sent = None
        while True:
            deadline.check(f"position {consumer.position(kafka.TopicPartition(topic, 0))}")
            if sent is None or sent.failed():
                sent = producer.send(topic, value=value.encode(), partition=0)
            for batch in consumer.poll(timeout_ms=500).values():
                for record in batch:
                    if record.value == value.encode():
                        return {"offset": record.offset}


if __name__ == "__main__":
    steps.serve(Driver(sys.argv[1]))
