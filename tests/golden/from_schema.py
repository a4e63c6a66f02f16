#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encodes every message from Kafka's own schema files, as a second opinion on our field lists.

    from_schema.py FOLDER    FOLDER holds Kafka's message schemas (FetchRequest.json, ...)

Writes tests/golden/schema/<Message>.txt: one line a version, `version: hex`. Values follow from the
names of the fields, so that tests/protocol/schema_test.cpp can fill its messages in the same way:
with n the name in lower case without underscores, and s the sum of its characters,

    number  s (int8: s % 100 + 1)     bool   the opposite of its default
    string  n, at most 4 characters   uuid   16 times s % 250 + 1
    records, bytes  as string         array  one element
"""
import json
import pathlib
import re
import struct
import sys

SERVED = {"Produce": (3, 12), "Fetch": (4, 17), "ListOffsets": (1, 11), "Metadata": (0, 12),
          "FindCoordinator": (0, 6), "ApiVersions": (0, 4), "CreateTopics": (2, 7),
          "DeleteTopics": (1, 6), "InitProducerId": (0, 5), "OffsetForLeaderEpoch": (2, 4),
          "DescribeConfigs": (1, 4)}
FORMATS = {"int8": ">b", "int16": ">h", "int32": ">i", "int64": ">q"}


def holds(versions, version):
    if versions in (None, "none"):
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    first, _, last = versions.partition("-")
    return int(first) <= version <= int(last or first)


def uvarint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


class Encoder:
    def __init__(self, schema, version):
        self.version = version
        self.flexible = holds(schema["flexibleVersions"], version)
        self.common = {s["name"]: s["fields"] for s in schema.get("commonStructs", [])}

    def sized(self, data, count, length_format):
        if self.flexible:
            return uvarint(count + 1) + data
        return struct.pack(length_format, count) + data

    def value(self, kind, field):
        name = field["name"].lower().replace("_", "")
        total = sum(name.encode())
        if kind.startswith("[]"):
            return self.sized(self.value(kind[2:], field), 1, ">i")
        if kind == "bool":
            return b"\0" if str(field.get("default", "false")).lower() == "true" else b"\1"
        if kind in FORMATS:
            return struct.pack(FORMATS[kind], total % 100 + 1 if kind == "int8" else total)
        if kind == "uuid":
            return bytes([total % 250 + 1]) * 16
        text = name[:4].encode()
        if kind == "string":
            return self.sized(text, len(text), ">h")
        if kind in ("bytes", "records"):
            return self.sized(text, len(text), ">i")
        return self.fields(field.get("fields") or self.common[kind])

    def fields(self, fields):
        in_line, tags = b"", []
        for field in fields:
            if not holds(field["versions"], self.version):
                continue
            data = self.value(field["type"], field)
            if "tag" in field and holds(field["taggedVersions"], self.version):
                tags.append((field["tag"], data))
            else:
                in_line += data
        if not self.flexible:
            return in_line
        tags.sort()
        in_line += uvarint(len(tags))
        return in_line + b"".join(uvarint(t) + uvarint(len(d)) + d for t, d in tags)


def main():
    folder = pathlib.Path(sys.argv[1])
    target = pathlib.Path(__file__).parent / "schema"
    for api, (first, last) in SERVED.items():
        for kind in ("Request", "Response"):
            text = (folder / f"{api}{kind}.json").read_text()
            schema = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
            lines = [f"{v}: {Encoder(schema, v).fields(schema['fields']).hex()}\n"
                     for v in range(first, last + 1)]
            (target / f"{api}{kind}.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
