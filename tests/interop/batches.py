# SPDX-License-Identifier: Apache-2.0
"""Record batches (format 2) by hand, the wrong ones too."""
import struct
import time


def _crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def uvarint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value):
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def _sized(data):
    return varint(-1) if data is None else varint(len(data)) + data


def record(key, value, offset_delta=0, timestamp_delta=0, headers=()):
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + _sized(key) + _sized(value)
    body += varint(len(headers))
    for name, content in headers:
        body += _sized(name) + _sized(content)
    return varint(len(body)) + body


def batch(records, **fields):
    """A batch of (key, value) or (key, value, timestamp); else they are of now. `fields` replace
    those of the header, and `payload` the records' bytes."""
    first = records[0][2] if len(records[0]) > 2 else int(time.time() * 1000)
    base_timestamp = fields.get("base_timestamp", first)
    times = [r[2] if len(r) > 2 else base_timestamp for r in records]
    payload = fields.get("payload")
    if payload is None:
        payload = b"".join(record(r[0], r[1], i, times[i] - base_timestamp)
                           for i, r in enumerate(records))
    covered = struct.pack(
        ">hiqqqhii", fields.get("attributes", 0), fields.get("last_offset_delta", len(records) - 1),
        base_timestamp, fields.get("max_timestamp", max(times)), fields.get("producer_id", -1),
        fields.get("producer_epoch", -1), fields.get("base_sequence", -1),
        fields.get("record_count", len(records))) + payload
    crc = fields.get("crc", crc32c(covered))
    return struct.pack(">qiibI", fields.get("base_offset", 0), len(covered) + 9, -1,
                       fields.get("magic", 2), crc) + covered


def plain_snappy(data):
    """A raw snappy block that compresses nothing: literals only."""
    out = uvarint(len(data))
    for at in range(0, len(data), 60):
        piece = data[at:at + 60]
        out += bytes([len(piece) - 1 << 2]) + piece
    return out
