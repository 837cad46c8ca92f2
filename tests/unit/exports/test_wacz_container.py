"""The zip file of a WACZ."""

import hashlib
import io
import json
import zipfile
from datetime import UTC, datetime

from nwx.exports.wacz_container import WaczWriter


def test_every_file_is_listed_with_its_checksum() -> None:
    stream = io.BytesIO()
    writer = WaczWriter(stream, datetime(2020, 1, 2, 3, 4, 6, tzinfo=UTC))
    with writer.entry("archive/data.warc.gz") as entry:
        places = [entry.write(b"one"), entry.write(b"three")]
    with writer.entry("pages/pages.jsonl", deflated=True) as entry:
        entry.write(b"{}")
    writer.finish({"title": "A title", "description": ""})

    assert places == [0, 3]
    with zipfile.ZipFile(stream) as archive:
        assert archive.testzip() is None
        assert archive.getinfo("archive/data.warc.gz").compress_type == zipfile.ZIP_STORED
        package = json.loads(archive.read("datapackage.json"))
        digest = json.loads(archive.read("datapackage-digest.json"))
        found = {one["path"]: one["hash"] for one in package["resources"]}
        for path, checksum in found.items():
            assert checksum == f"sha256:{hashlib.sha256(archive.read(path)).hexdigest()}"
        written = hashlib.sha256(archive.read("datapackage.json")).hexdigest()
    assert set(found) == {"archive/data.warc.gz", "pages/pages.jsonl"}
    assert digest["hash"] == f"sha256:{written}"
    assert (package["title"], "description" in package) == ("A title", False)
    assert package["created"] == "2020-01-02T03:04:06Z"


def test_closing_twice_is_harmless() -> None:
    writer = WaczWriter(io.BytesIO(), datetime(2020, 1, 1, tzinfo=UTC))
    writer.close()
    writer.close()
