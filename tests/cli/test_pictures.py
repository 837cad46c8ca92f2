"""nwx build-pictures and nwx pictures."""

from pathlib import Path

from tests.cli.conftest import Nwx
from tests.pictured import COPY, SHIP, drawing, image_records, page_records
from tests.warc_records import write_records


def test_pictures_are_built_and_found(nwx: Nwx, tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.warc.gz", [*page_records(), *image_records()])
    nwx("import", path, "--quiet")
    for options in ((), ("--json",), ("--similar", path)):
        assert "run `nwx build-pictures` first" in nwx("pictures", *options, code=1).err
    report = nwx("build-pictures", "--workers", "2", "--json").json
    assert (report["pictures"], report["pages"], report["unreadable"]) == (4, 3, 1)
    assert report["problems"] == []  # they would name files, which may be hidden
    shown = nwx("pictures", "sailing").out
    assert "1 picture\n" in shown
    assert SHIP in shown
    assert "A sailing ship" in shown
    answer = nwx("pictures", "sailing", "--colour", "blue", "--size", "medium", "--json").json
    assert [one["url"] for one in answer["pictures"]] == [SHIP]
    assert nwx("pictures", "sailing", "--collection", "other", "--json").json["pictures"] == []
    assert "four digits" in nwx("pictures", "--year", "99", code=2).err
    image = tmp_path / "like.jpg"
    image.write_bytes(drawing("JPEG", (160, 120)))
    like = nwx("pictures", "--similar", image, "--json").json
    assert {one["url"] for one in like["pictures"]} == {SHIP, COPY}
    assert "is not a field" in nwx("pictures", "nothing:x", code=2).err
    nwx("pictures", "x", "--similar", image, code=2)
    lost = nwx("pictures", "--similar", tmp_path / "none.jpg", code=1).err
    assert lost == f"nwx: {tmp_path / 'none.jpg'} cannot be read: No such file or directory\n"
    with image.open("ab") as file:
        file.truncate((64 << 20) + 1)
    assert "more than 67,108,864 bytes" in nwx("pictures", "--similar", image, code=2).err
    assert "0 captures" in nwx("build-pictures").out
