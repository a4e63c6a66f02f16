# SPDX-License-Identifier: Apache-2.0
"""Reads the batches of a partition's .log files, without any code of the broker's.

    segments.py FOLDER      prints them, one a line
"""
import dataclasses
import os
import pathlib
import struct
import sys

import batches

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADER = struct.Struct(">qiibIhiqqqhii")


@dataclasses.dataclass
class Batch:
    file: str
    base_offset: int
    last_offset: int
    codec: str
    attributes: int
    max_timestamp: int
    delete_horizon: int | None
    producer_id: int
    base_sequence: int
    record_count: int
    crc_holds: bool | None


def read(folder, check_crc=True):
    """All batches of the partition in that folder, in the order of the log.

    A torn tail of the active segment (a batch being written) is left out; everything else that is
    wrong raises an AssertionError.
    """
    found = []
    logs = sorted(pathlib.Path(folder).glob("*.log"), key=lambda path: path.name)
    for path in logs:
        found.extend(_read_file(path, check_crc))
    for before, after in zip(found, found[1:]):
        assert before.last_offset < after.base_offset, \
            f"offsets do not ascend: {before} then {after}"
    for batch in found:
        assert batch.crc_holds is not False, f"the checksum does not hold: {batch}"
    return found


def _read_file(path, check_crc):
    """Only headers are read where no checksum is wanted."""
    try:
        file = open(path, "rb", buffering=0)
    except FileNotFoundError:  # a pass replaced it meanwhile
        return
    with file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at + HEADER.size <= size:
            header = os.pread(file.fileno(), HEADER.size, at)
            (base, length, _, magic, crc, attributes, last_delta, base_timestamp, max_timestamp,
             producer_id, _, base_sequence, count) = HEADER.unpack(header)
            end = at + 12 + length
            if length < 49 or magic != 2:
                raise AssertionError(f"{path.name}: no batch at {at}")
            if end > size:
                return
            horizon = base_timestamp if attributes & 0x40 else None
            holds = None
            if check_crc:
                holds = batches.crc32c(os.pread(file.fileno(), end - at - 21, at + 21)) == crc
            yield Batch(path.name, base, base + last_delta, CODECS[attributes & 7], attributes,
                        max_timestamp, horizon, producer_id, base_sequence, count, holds)
            at = end


def record_count(folder):
    """Records that the partition holds, or None while a pass is replacing its files."""
    try:
        return sum(batch.record_count for batch in read(folder, check_crc=False))
    except AssertionError:
        return None


if __name__ == "__main__":
    for one in read(sys.argv[1]):
        print(one)
