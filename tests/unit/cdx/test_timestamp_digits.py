"""Timestamps of many lines at once are those one by one."""

import random

import numpy as np

from nwx.cdx.timestamp_digits import timestamps_of
from nwx.errors import TimestampError
from nwx.values.timestamps import normal_timestamp


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
