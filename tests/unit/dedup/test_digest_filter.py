"""Bloom filters of digests: no false negatives, few false positives."""

from pathlib import Path

import pytest

from nwx.dedup.digest_filter import DigestFilter
from nwx.errors import FormatError
from tests.unit.dedup.test_digest_lists import cdx_of, digest, exported


@pytest.mark.parametrize("rate", [0.2, 0.01])
def test_a_filter_has_all_digests_and_few_others(tmp_path: Path, rate: float) -> None:
    report = exported(cdx_of(tmp_path / "a.cdx", range(2_000)), tmp_path / "filter", rate)
    found = DigestFilter(tmp_path / "filter")
    assert found.head.digests == 2_000
    assert found.has([digest(n).encode() for n in range(2_000)]).all()
    others = found.has([digest(n).encode() for n in range(10_000, 30_000)]).mean()
    assert report.false_positive_rate == found.head.false_positive_rate
    assert others == pytest.approx(report.false_positive_rate, rel=0.2)
    assert report.false_positive_rate == pytest.approx(rate, rel=0.15)


def test_a_filter_of_nothing_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_text("")
    exported(tmp_path / "a.cdx", tmp_path / "filter", 0.01)
    assert not DigestFilter(tmp_path / "filter").has([digest(1).encode()]).any()


@pytest.mark.parametrize("change", ["cut", "bits", "hashes", "no json"])
def test_a_broken_filter_is_told(tmp_path: Path, change: str) -> None:
    path = tmp_path / "filter"
    exported(cdx_of(tmp_path / "a.cdx", range(9)), path, 0.1)
    data = path.read_bytes()
    changes = {
        "cut": data[:-1],
        "bits": data.replace(b'"bits": ', b'"bits": -1'),
        "hashes": data.replace(b'"hashes": ', b'"hashes": 10000'),
        "no json": data.replace(b"{", b"{{", 1),
    }
    path.write_bytes(changes[change])
    with pytest.raises(FormatError, match="filter"):
        DigestFilter(path)
