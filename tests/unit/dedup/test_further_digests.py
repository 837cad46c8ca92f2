"""Additional digests of payloads already in an archive."""

import hashlib
from pathlib import Path

import pytest

from nwx.dedup.digest_lists import add_digests
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices import stored_pieces
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.unit.warc.stored_files import http, sha1, warc, zipped

BODIES = [f"<p>{number}</p>".encode() * 500 for number in range(9)]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    settings = Settings(str(tmp_path / "archive"))
    records = [warc(http(body), url=f"http://{n}.example/") for n, body in enumerate(BODIES)]
    (tmp_path / "a.warc.gz").write_bytes(zipped(*records, records[0]))
    (tmp_path / "b.warc").write_bytes(b"".join(records))
    with open_engine(settings) as opened:
        opened.create()
        import_files(opened, settings, expand([str(tmp_path)]), ImportOptions(jobs=1))
    return open_engine(settings)


@pytest.mark.parametrize("piece", [1, 5_000, 1 << 20])
def test_files_are_read_in_pieces(
    engine: Engine, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_pieces, "_PIECE_BYTES", piece)
    shown: list[tuple[int, int]] = []
    with engine:
        report = add_digests(engine, 1, lambda one: shown.append((one.done, one.total)))
        assert (report.files, report.payloads, report.digests) == (2, 19, 9)
        assert (report.unverified, report.errors) == (0, [])
        assert shown[-1][0] == shown[-1][1] > 0
        assert list(engine.digests.pairs()) == sorted(
            (f"sha256:{hashlib.sha256(body).hexdigest()}", sha1(body)) for body in BODIES
        )
        again = add_digests(engine, 1)
        assert (again.files_done, again.payloads) == (2, 0)
        assert engine.digests.is_kept()
