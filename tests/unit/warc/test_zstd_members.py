"""Zstandard frames, with or without a dictionary in front (WARC-zstd 1.0)."""

import io
import struct

import zstandard

from nwx.warc.members import open_members
from nwx.warc.stored_bytes import Raw
from nwx.warc.zstd_members import ZstdMembers, has_dictionary, read_dictionary
from tests.unit.warc.stored_files import pages
from tests.unit.warc.test_members import contents

RECORDS = pages(60)


def with_dictionary(*, packed: bool) -> bytes:
    trained = zstandard.train_dictionary(4096, RECORDS)
    content = trained.as_bytes()
    stored = zstandard.compress(content) if packed else content
    front = struct.pack("<II", 0x184D2A5D, len(stored)) + stored
    compressor = zstandard.ZstdCompressor(dict_data=trained)
    return front + b"".join(map(compressor.compress, RECORDS))


def test_frames_that_need_the_dictionary_in_front() -> None:
    for packed in (False, True):
        data = with_dictionary(packed=packed)
        assert has_dictionary(data)
        assert read_dictionary(Raw(io.BytesIO(data))) is not None
        assert contents(open_members(io.BytesIO(data))) == RECORDS


def test_frames_without_a_dictionary() -> None:
    data = b"".join(map(zstandard.compress, RECORDS))
    assert not has_dictionary(data)
    assert contents(ZstdMembers(Raw(io.BytesIO(data)))) == RECORDS


def test_a_damaged_frame_is_reported_and_the_others_are_read() -> None:
    frames = [zstandard.ZstdCompressor(write_checksum=True).compress(one) for one in RECORDS[:3]]
    data = bytearray(b"".join(frames))
    data[len(frames[0]) + len(frames[1]) // 2] ^= 0xFF
    members = ZstdMembers(Raw(io.BytesIO(bytes(data))))
    found = contents(members)
    assert (found[0], found[-1]) == (RECORDS[0], RECORDS[2])
    assert members.faults[0].kind == "zstd"
