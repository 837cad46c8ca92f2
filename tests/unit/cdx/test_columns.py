"""Columns of blocks, compared with the readers of single lines."""

import random
from pathlib import Path

import numpy as np

from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns, timestamps_of
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.errors import TimestampError
from nwx.values.digests import digest_of
from nwx.values.timestamps import normal_timestamp

SHA1 = digest_of("sha1", bytes(range(20)))


def _columns(tmp_path: Path, lines: list[str], header: str = "") -> CdxColumns:
    path = tmp_path / "lines.cdx"
    path.write_text(header + "".join(line + "\n" for line in lines))
    reading = FileReading(str(path))
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    return CdxColumns(block, reading)


def test_fields_of_lines(tmp_path: Path) -> None:
    lines = [
        f"k 2024 http://a/ warc/revisit 200 {SHA1} - 1 f",
        "k 20240229 http://b/ warc/revisits 200 - - 2 -",
    ]
    columns = _columns(tmp_path, lines)
    assert columns.timestamp.tolist() == [20240101000000, 20240229000000]
    assert columns.texts("a") == [b"http://a/", b"http://b/"]
    assert columns.is_missing("kc").tolist() == [False, True]
    assert columns.is_revisit().tolist() == [True, True]
    assert columns.sizes().tolist() == [-1, -1]
    columns.keep(np.array([False, True]))
    assert columns.texts("N") == [b"k"]
    assert columns.starts("N").tolist() == [len(lines[0]) + 1]


def _is_instant(text: str) -> bool:
    try:
        return normal_timestamp(text) == text
    except TimestampError:
        return False


def _digits(texts: list[str]) -> np.ndarray:
    raw = b"".join(text.encode() + b" h" for text in texts)
    return np.frombuffer(raw, np.uint8).reshape(-1, 16)


def test_timestamps_many_at_once_are_those_one_by_one() -> None:
    chance = random.Random(3)
    edges = ["0", "1", "2", "9", "/", ":", "a", " "]
    texts = [
        f"{chance.choice([0, 1, 1900, 2000, 2023, 2024, 9999]):04}{chance.randint(0, 13):02}"
        f"{chance.randint(0, 32):02}{chance.randint(0, 25):02}{chance.randint(0, 61):02}"
        f"{chance.randint(0, 61):02}"
        for _ in range(20_000)
    ]
    for place in range(14):
        texts += ["20240131235959"[:place] + edge + "20240131235959"[place + 1 :] for edge in edges]
    values, good = timestamps_of(_digits(texts))
    assert [text for text, right in zip(texts, good, strict=True) if right] == [
        text for text in texts if _is_instant(text)
    ]
    assert values[good].tolist() == [int(text) for text in texts if _is_instant(text)]
