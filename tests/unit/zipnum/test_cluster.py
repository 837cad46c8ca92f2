"""Clusters are read between two keys, whatever their format and location."""

import gzip
import json
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from nwx.errors import FormatError, SourceError
from nwx.zipnum.cluster import Cluster, ClusterPlaces, WaczPlaces, open_cluster
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index

LINES = cdxj_lines(500)


@pytest.fixture(params=["classic", "wacz form", "wacz"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    if request.param == "classic":
        place = write_cluster(tmp_path, LINES, lines=7)
    else:
        place = write_wacz_index(tmp_path, LINES, lines=7)
    if request.param == "wacz":
        place = tmp_path / "archive.wacz"
        with zipfile.ZipFile(place, "w") as archive:
            for name in ("index.idx", "index.cdx.gz"):
                archive.write(tmp_path / name, f"indexes/{name}")
    with open_cluster(place) as opened:
        yield opened


def test_all_lines_come_in_order(cluster: Cluster) -> None:
    assert list(cluster.lines()) == LINES


def test_any_two_keys_give_what_lies_between(cluster: Cluster) -> None:
    keys = [b"", b"~", b"com", *LINES[::41]]
    for line in LINES[::23]:
        urlkey, timestamp, _ = line.split(b" ", 2)
        keys += [urlkey, urlkey + b" ", urlkey + b" " + timestamp, line[:-5], line + b"x"]
    for start in keys:
        for end in [*keys[::7], None]:
            expected = [line for line in LINES if start <= line and (end is None or line < end)]
            assert list(cluster.lines(start, end)) == expected, (start, end)


def test_a_folder_is_named_as_well_as_its_index(tmp_path: Path) -> None:
    write_cluster(tmp_path, LINES)
    with open_cluster(tmp_path) as opened:
        assert list(opened.lines(LINES[3], LINES[5])) == LINES[3:5]
    (tmp_path / "cluster.idx").rename(tmp_path / "one.idx")
    (tmp_path / "two.idx").write_bytes(b"")
    with pytest.raises(SourceError, match=r"2 \.idx files"):
        open_cluster(tmp_path)


def test_parts_without_a_loc_are_beside_the_index(tmp_path: Path) -> None:
    write_cluster(tmp_path, LINES)
    (tmp_path / "cluster.loc").unlink()
    with open_cluster(tmp_path) as opened:
        assert list(opened.lines()) == LINES


def test_lines_of_one_key_over_many_blocks(tmp_path: Path) -> None:
    same = [b'org,one)/ 20200101000000 {"offset": "%05d"}' % number for number in range(100)]
    write_cluster(tmp_path, [b"org,a)/ 2020 {}", *same, b"org,z)/ 2020 {}"], lines=3)
    with open_cluster(tmp_path) as opened:
        assert list(opened.lines(b"org,one)/ ", b"org,one)/!")) == same
        assert list(opened.lines(same[50], same[60])) == same[50:60]


def test_an_empty_cluster_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "cluster.idx").write_bytes(b"")
    with open_cluster(tmp_path) as opened:
        assert list(opened.lines()) == []
        assert list(opened.lines(b"a", b"b")) == []


def test_the_first_place_that_can_be_opened_counts(tmp_path: Path) -> None:
    place = write_cluster(tmp_path, LINES)
    (tmp_path / "cluster.loc").write_text("cdx-00000.gz\tgone.gz\tcdx-00000.gz\n")
    with open_cluster(place) as opened:
        assert list(opened.lines()) == LINES


@pytest.mark.parametrize("form", ["../secret.gz", "{outside}", "link.gz", "file://{outside}"])
def test_nothing_outside_the_folder_is_opened(tmp_path: Path, form: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write_cluster(inside, LINES)
    outside = tmp_path / "secret.gz"
    (inside / "cdx-00000.gz").rename(outside)
    (inside / "link.gz").symlink_to(outside)
    path = form.format(outside=outside)
    (inside / "cluster.loc").write_text(f"cdx-00000.gz\t{path}\n")
    with (
        open_cluster(inside) as opened,
        pytest.raises(SourceError, match="outside the cluster's folder"),
    ):
        list(opened.lines())
    if "://" not in form:
        with open_cluster(inside, [str(tmp_path)]) as opened:
            assert list(opened.lines()) == LINES


def test_a_part_is_no_way_out_either(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(gzip.compress(b"a 2020 {}\n", mtime=0))
    (inside / "cluster.idx").write_bytes(b"a 2020\t../secret\t0\t30\t1\n")
    with open_cluster(inside) as opened, pytest.raises(SourceError, match="outside"):
        list(opened.lines())


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "..\\\\secret", "a/../../secret"])
def test_a_meta_line_is_no_way_out(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(gzip.compress(b"a 2020 {}\n", mtime=0))
    meta = json.dumps({"format": "cdxj-gzip-1.0", "filename": name})
    index = f'!meta 0 {meta}\na 2020 {{"offset": 0, "length": 30}}\n'
    (inside / "index.idx").write_text(index)
    with open_cluster(inside) as opened, pytest.raises(SourceError):
        list(opened.lines())
    wacz = tmp_path / "hostile.wacz"
    with zipfile.ZipFile(wacz, "w") as archive:
        archive.writestr("indexes/index.idx", index)
        archive.writestr(name, gzip.compress(b"a 2020 {}\n", mtime=0))
    with open_cluster(wacz) as opened, pytest.raises(SourceError, match="not a file name"):
        list(opened.lines())


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    place = write_cluster(tmp_path, LINES, lines=50)
    data = bytearray((tmp_path / "cdx-00000.gz").read_bytes())
    data[200] ^= 0x55
    (tmp_path / "cdx-00000.gz").write_bytes(data)
    with open_cluster(place) as opened, pytest.raises(FormatError, match=r"cdx-00000\.gz"):
        list(opened.lines())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"a 2020\tcdx-00000.gz\t0", "fields"),
        (b"a 2020\tcdx-00000.gz\t0\tmany\t1", "offset, length"),
        (b"a 2020\tcdx-00000.gz\t0\t99999999999\t1", "cannot have"),
        (b"a 2020\tcdx-00000.gz\t100000\t500\t1", "incomplete"),
        (b"a 2020\tcdx-00000.gz\t0\t40\t1", "cut off"),
        (b"a 2020\tnothing.gz\t0\t40\t1", "nothing.gz"),
        (b'a 2020 {"offset": "x", "length": 3}', "missing or not a number"),
        (b'a 2020 {"offset"', "JSON"),
        (b"what is this", "not a line of a ZipNum index"),
    ],
)
def test_hostile_index_lines_are_refused(tmp_path: Path, line: bytes, message: str) -> None:
    place = write_cluster(tmp_path, LINES)
    place.write_bytes(line + b"\n")
    with open_cluster(place) as opened, pytest.raises((FormatError, SourceError), match=message):
        list(opened.lines())


def test_a_file_without_line_ends_is_refused_soon(tmp_path: Path) -> None:
    (tmp_path / "cluster.idx").write_bytes(b"x" * (3 << 20))
    with pytest.raises(FormatError, match="a line of more than"):
        open_cluster(tmp_path)


def test_a_block_that_is_a_bomb_is_left(tmp_path: Path) -> None:
    bomb = gzip.compress(bytes(5 << 20), mtime=0)
    (tmp_path / "cdx-00000.gz").write_bytes(bomb)
    (tmp_path / "cluster.idx").write_bytes(b"a 2020\tcdx-00000.gz\t0\t%d\t1\n" % len(bomb))
    with open_cluster(tmp_path) as opened, pytest.raises(FormatError, match="a line of more than"):
        list(opened.lines())


class _Ranges(SimpleHTTPRequestHandler):
    """Serves files of a folder, by ranges only if `ranges`."""

    asked: ClassVar[list[str]]
    ranges = True
    moved_to = ""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        if self.moved_to:
            self.send_response(302)
            self.send_header("Location", self.moved_to)
            self.end_headers()
            return
        content = path.read_bytes()
        self.asked.append(self.path)
        if not self.ranges:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)
            return
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        piece = content[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(len(piece)))
        self.end_headers()
        self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, type[_Ranges]]]:
    """The address of the test's folder, and the class that handles its requests."""

    class Answers(_Ranges):
        asked: ClassVar[list[str]] = []

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Answers, directory=str(tmp_path)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", Answers
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_cluster_behind_an_address_is_read_by_ranges(
    tmp_path: Path, address: tuple[str, type[_Ranges]]
) -> None:
    write_cluster(tmp_path, LINES, lines=7)
    url, answers = address
    with open_cluster(url) as opened:
        assert list(opened.lines()) == LINES
        blocks = sum(1 for _ in opened.blocks())
    asked = answers.asked.count("/cdx-00000.gz")
    assert 0 < asked < blocks / 4
    with open_cluster(f"{url}/cluster.idx") as opened:
        assert list(opened.lines(LINES[77], LINES[79])) == LINES[77:79]


def test_other_addresses_are_left_alone(tmp_path: Path, address: tuple[str, type[_Ranges]]) -> None:
    write_cluster(tmp_path, LINES)
    (tmp_path / "cluster.loc").write_text("cdx-00000.gz\thttp://127.0.0.1:1/cdx-00000.gz\n")
    with open_cluster(address[0]) as opened, pytest.raises(SourceError, match="outside"):
        list(opened.lines())


def test_a_server_that_sends_us_elsewhere_is_not_followed(
    tmp_path: Path, address: tuple[str, type[_Ranges]]
) -> None:
    write_cluster(tmp_path, LINES)
    address[1].moved_to = "http://127.0.0.1:1/secret"
    with pytest.raises(SourceError, match="has moved to"):
        open_cluster(address[0])


def test_a_server_without_ranges_is_refused(
    tmp_path: Path, address: tuple[str, type[_Ranges]]
) -> None:
    write_cluster(tmp_path, LINES)
    address[1].ranges = False
    with pytest.raises(SourceError, match="does not support ranges"):
        open_cluster(address[0])


def test_pywb_and_common_crawl_clusters(shared_data: Path) -> None:
    folder = shared_data / "zipnum"
    with open_cluster(folder / "cc") as opened:
        plain = gzip.decompress((folder / "cc" / "cdx-00187.gz").read_bytes())
        assert list(opened.lines()) == plain.splitlines()
    with open_cluster(folder / "pywb" / "zipnum-sample.idx") as opened:
        found = list(opened.lines(b"org,iana)/ ", b"org,iana)/!"))
        assert [line.split(b" ")[1] for line in found] == [
            b"20140126200624",
            b"20140127171238",
            b"20140127171238",
        ]


def test_an_index_of_a_real_wacz(shared_data: Path) -> None:
    with open_cluster(shared_data / "wacz" / "valid_example_1.wacz") as opened:
        (line,) = opened.lines()
    assert json.loads(line.split(b" ", 2)[2])["url"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cluster"
    made.mkdir()
    (made / "cluster.idx").touch()
    (made / "a.gz").write_bytes(b"beside")
    (tmp_path / "secret.gz").write_bytes(b"secret")
    return made


def places(folder: Path, locations: str, *allowed: str) -> ClusterPlaces:
    (folder / "cluster.loc").write_text(locations)
    return ClusterPlaces(str(folder / "cluster.idx"), allowed)


def content(found: ClusterPlaces | WaczPlaces, part: str) -> bytes:
    stored = found.open(part)
    try:
        return stored.read(0, 100)
    finally:
        stored.close()


def test_a_part_is_where_the_loc_file_says_or_beside_the_index(folder: Path) -> None:
    assert content(places(folder, "one\ta.gz\n"), "one") == b"beside"
    (folder / "cluster.loc").unlink()
    assert content(ClusterPlaces(str(folder / "cluster.idx")), "a") == b"beside"


def test_the_first_path_of_a_part_that_is_there_counts(folder: Path) -> None:
    assert content(places(folder, "one\tgone.gz\ta.gz\n"), "one") == b"beside"


@pytest.mark.parametrize("path", ["../secret.gz", "/etc/passwd", "http://127.0.0.1:1/x", "x\0y"])
def test_no_place_outside_the_folder_is_given(folder: Path, path: str) -> None:
    with pytest.raises(SourceError):
        places(folder, f"one\t{path}\n").open("one")


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    (folder / "link.gz").symlink_to(folder.parent / "secret.gz")
    with pytest.raises(SourceError, match="outside the cluster"):
        places(folder, "one\tlink.gz\n").open("one")
    allowed = places(folder, "one\tlink.gz\n", str(folder.parent))
    assert content(allowed, "one") == b"secret"


def test_the_index_of_a_wacz(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indexes/index.idx", b"!meta 0 {}")
        archive.writestr("indexes/index.cdx.gz", b"blocks")
    found = WaczPlaces(path)
    index = found.open_index()
    assert index.read(0, 5) == b"!meta"
    index.close()
    assert content(found, "index.cdx.gz") == b"blocks"
    with pytest.raises(SourceError, match="not a file name"):
        found.open("../datapackage.json")


def test_a_wacz_without_an_index_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w"):
        pass
    with pytest.raises(SourceError, match="one is needed"):
        WaczPlaces(tmp_path / "a.wacz").open_index()
