"""Duplicates found in CDX files."""

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from nwx.bulk.resources import Resources
from nwx.cdx import blocks, inputs
from nwx.cdx.inputs import CdxSource
from nwx.cdx.layouts import Layout
from nwx.cdx.rows import CdxRow
from nwx.dedup import duplicates
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import find_duplicates
from nwx.dedup.policies import Keep, Key, Revisits
from nwx.dedup.tasks import DedupReport
from nwx.errors import CdxError, SourceError

A, B, C = "A" * 32, "B" * 32, "C" * 32
URL = "http://www.example.org/"


def _line(
    date: str, digest: str, url: str = URL, mime: str = "text/html", size: str = "100"
) -> str:
    return f"org,example)/ {date} {url} {mime} 200 {digest} - - {size} 5 f.warc.gz"


def _write(tmp_path: Path, *lines: str, name: str = "in.cdx", header: str = "") -> CdxSource:
    path = tmp_path / name
    path.write_bytes(header.encode() + b"".join(line.encode() + b"\n" for line in lines))
    return CdxSource(str(path))


def _found(
    *sources: CdxSource, selection: CaptureFilter | None = None, **more: object
) -> tuple[list[str], DedupReport]:
    output = io.BytesIO()
    report = find_duplicates(sources, output, selection or CaptureFilter(), **more)  # type: ignore[arg-type]
    return output.getvalue().decode().splitlines(), report


def test_the_worked_example_of_the_original(tmp_path: Path) -> None:
    """Five versions over ten days, each captured twice, give five lines."""
    versions = ("abc123", "def456", "ghi789", "jkl012", "mno345")
    seen = [versions[0], versions[0], versions[1], versions[2], versions[1]]
    seen += [versions[3], versions[2], versions[4], versions[4], versions[3]]
    lines = [
        f"org,example)/ 200701{day:02}000000 {URL} text/html 200 {digest} - {day} crawl.arc.gz"
        for day, digest in enumerate(seen, 1)
    ]
    source = _write(tmp_path, *lines, header=" CDX N b a m s k r V g\n")
    found, report = _found(source)
    assert found == [
        f"20070102000000 abc123 {URL}",
        f"20070105000000 def456 {URL}",
        f"20070107000000 ghi789 {URL}",
        f"20070109000000 mno345 {URL}",
        f"20070110000000 jkl012 {URL}",
    ]
    assert (report.lines, report.keys, report.duplicates) == (10, 5, 5)


def test_the_order_is_that_of_the_input_and_the_oldest_is_kept(tmp_path: Path) -> None:
    source = _write(tmp_path, _line("2015", A), _line("2017", A), _line("2013", A))
    assert _found(source)[0] == [f"2015 {A} {URL}", f"2017 {A} {URL}"]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("keep", list(Keep))
def test_no_line_names_the_capture_that_is_kept(
    tmp_path: Path, keep: Keep, in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Excluding all listed captures keeps one capture of each key."""
    monkeypatch.setattr(duplicates, "seem_in_order", lambda *_: in_order)
    one = _write(tmp_path, _line("2015", f"sha1:{A}", size="9"), _line("2016", A), name="1")
    two = _write(
        tmp_path,
        _line("20150101", A, mime="warc/revisit", size="5"),
        _line("2016", A, size="100"),
        name="2",
    )
    listed, report = _found(one, two, selection=CaptureFilter(keep=keep))
    dates = {line.split()[0] for line in listed}
    assert dates == ({"2016"} if keep in (Keep.OLDEST, Keep.ORIGINAL) else {"2015", "20150101"})
    assert (len(listed), report.duplicates, report.spared, report.keys) == (2, 2, 1, 1)


def test_another_url_of_the_same_second_is_listed(tmp_path: Path) -> None:
    other = URL.replace("http:", "https:")
    source = _write(tmp_path, _line("2015", A), _line("2015", A, other), _line("2015", A))
    for key in (Key.URLKEY_DIGEST, Key.DIGEST):
        listed, report = _found(source, selection=CaptureFilter(key=key))
        assert listed == [f"2015 {A} {other}"]
        assert (report.keys, report.spared) == (1, 1)


def test_what_is_held_is_listed_though_it_is_of_the_same_second(tmp_path: Path) -> None:
    lines = [_line("2015", A), _line("2016", A)]
    held = _write(tmp_path, *lines, name="held")
    listed, report = _found(_write(tmp_path, *lines), replace(held, held=True))
    assert (len(listed), report.spared) == (2, 0)


def test_digests_are_compared_by_value_and_written_as_they_came(tmp_path: Path) -> None:
    base32, hexadecimal = (
        "VLPFDIPVJLNMCPXYLJXUPSQW5UQEB2EM",
        "aade51a1f54adac13ef85a6f47ca16ed2040e88c",
    )
    source = _write(tmp_path, _line("2015", base32), _line("2016", f"sha1:{hexadecimal}"))
    assert _found(source)[0] == [f"2016 sha1:{hexadecimal} {URL}"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Key.URL_DIGEST, ["2017"]),
        (Key.URLKEY_DIGEST, ["2016", "2017"]),
        (Key.DIGEST, ["2016", "2017", "2018"]),
    ],
)
def test_what_makes_a_duplicate(tmp_path: Path, key: Key, expected: list[str]) -> None:
    other = _line("2018", A, "http://other.org/").replace("org,example)/", "org,other)/")
    lines = [_line("2015", A), _line("2016", A, "http://example.org/"), _line("2017", A), other]
    found, _ = _found(_write(tmp_path, *lines), selection=CaptureFilter(key=key))
    assert [line.split()[0] for line in found] == expected


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        (Keep.OLDEST, "2014"),
        (Keep.NEWEST, "2018"),
        (Keep.LARGEST, "2016"),
        (Keep.ORIGINAL, "2015"),
    ],
)
def test_which_capture_is_kept(tmp_path: Path, keep: Keep, kept: str) -> None:
    lines = [
        _line("2014", A, mime="warc/revisit", size="20"),
        _line("2015", A, size="100"),
        _line("2017", A, size="300"),
        _line("2016", A, size="300"),
        _line("2018", A, size="-"),
    ]
    found, _ = _found(_write(tmp_path, *lines), selection=CaptureFilter(keep=keep))
    assert {line.split()[0] for line in found} == {"2014", "2015", "2016", "2017", "2018"} - {kept}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (CaptureFilter(min_bytes=100), ["2017"]),
        (CaptureFilter(mime_in=("text/*",)), ["2016", "2017"]),
        (CaptureFilter(mime_out=("text/*",)), []),
        (CaptureFilter(revisits=Revisits.OUT), ["2016", "2017"]),
    ],
)
def test_what_is_looked_at(tmp_path: Path, selection: CaptureFilter, expected: list[str]) -> None:
    lines = [
        _line("2014", A, mime="warc/revisit"),
        _line("2015", A, mime="Text/HTML", size="100"),
        _line("2016", A, size="99"),
        _line("2017", A, size="-"),
    ]
    found, report = _found(_write(tmp_path, *lines), selection=selection)
    if selection.min_bytes:
        expected = ["2015", *expected]
    assert [line.split()[0] for line in found] == expected
    assert report.filtered == 4 - report.keys - report.duplicates


def test_captures_without_a_digest_are_no_duplicates(tmp_path: Path) -> None:
    found, report = _found(_write(tmp_path, _line("2015", "-"), _line("2016", "-")))
    assert found == []
    assert report.without_digest == 2


def test_all_kinds_of_files_together(tmp_path: Path) -> None:
    plain = _write(tmp_path, _line("2015", A), name="plain.cdx")
    packed = tmp_path / "packed.cdx.gz"
    packed.write_bytes(gzip.compress(f"\tCDX\ta\tb\tk\n{URL}\t2016\t{A}\n".encode(), mtime=0))
    json_lines = tmp_path / "lines.cdxj.zst"
    text = f'!meta 0 {{}}\norg,example)/ 2017 {{"url": "{URL}", "digest": "sha1:{A}", "x": "y"}}\n'
    json_lines.write_bytes(zstandard.compress(text.encode()))
    nine = _write(tmp_path, f"k 2018 {URL} text/html 200 {A} - 5 f", name="nine.cdx")
    fourteen = _write(tmp_path, f"{_line('2019', A)} 1 2 g.warc.gz", name="fourteen.cdx")
    found, _ = _found(plain, CdxSource(str(packed)), CdxSource(str(json_lines)), nine, fourteen)
    assert [line.split()[0] for line in found] == ["2016", "2017", "2018", "2019"]
    assert found[1] == f"2017 sha1:{A} {URL}"


def test_a_layout_can_be_told_for_lines_without_a_header(tmp_path: Path) -> None:
    source = _write(tmp_path, f"{URL} 1.2.3.4 2015 t 5 f 6 x", f"{URL} 1.2.3.4 2016 t 5 f 6 x")
    told = CdxSource(source.path, Layout("aebmngVk"))
    assert _found(told)[0] == [f"2016 x {URL}"]


def test_held_captures_make_all_others_duplicates(tmp_path: Path) -> None:
    new = _write(tmp_path, _line("2015", A), _line("2016", B), _line("2017", B))
    held = _write(tmp_path, _line("2016", A), name="held.cdx")
    found, report = _found(new, CdxSource(held.path, held=True))
    assert found == [f"2015 {A} {URL}", f"2017 {B} {URL}"]
    assert (report.lines, report.keys) == (3, 2)


@pytest.mark.parametrize("form", ["2016 {digest} {url}", "{url} sha1:{digest} 2016"])
def test_an_exclusion_list_can_tell_what_is_held(tmp_path: Path, form: str) -> None:
    held = _write(tmp_path, form.format(digest=A, url=URL), name="held.dup")
    new = _write(tmp_path, _line("2015", A), _line("2016", B))
    assert _found(new, CdxSource(held.path, held=True))[0] == [f"2015 {A} {URL}"]


def test_captures_of_an_engine_can_be_held(tmp_path: Path) -> None:
    new = _write(tmp_path, _line("2015", A), _line("2016", B))
    lines = [CdxRow("org,example)/", "20200101000000", URL, digest=f"sha1:{B}")]
    assert _found(new, held=lines)[0] == [f"2016 {B} {URL}"]


def test_what_is_held_is_not_filtered(tmp_path: Path) -> None:
    new = _write(tmp_path, _line("2015", A, mime="image/png"))
    held = _write(tmp_path, f"2014 {A} {URL}", name="held.dup")
    selection = CaptureFilter(mime_in=("image/*",), min_bytes=50)
    found, _ = _found(new, CdxSource(held.path, held=True), selection=selection)
    assert found == [f"2015 {A} {URL}"]


def test_held_files_without_a_readable_line_are_an_error(tmp_path: Path) -> None:
    new = _write(tmp_path, _line("2015", A))
    held = replace(_write(tmp_path, "no CDX line", name="held.cdx"), held=True)
    with pytest.raises(SourceError, match="no line can be read: "):
        _found(new, held)
    assert _found(new, held, replace(new, held=True))[1].problems_total == 1
    assert _found(new, replace(_write(tmp_path, name="empty"), held=True))[1].lines == 1


def test_broken_lines_are_named_and_passed_over(tmp_path: Path) -> None:
    lines = [
        _line("2015", A),
        _line("20150230000000", A),
        "one two three",
        _line("2016", A).replace(" - - ", "  - "),
        _line("2016", A).replace("text/html", "text\thtml"),
        _line("", A),
        _line("201612011200", A),
    ]
    path = Path(_write(tmp_path, *lines).path)
    path.write_bytes(path.read_bytes() + _line("2017", A, "http://\xff/").encode("latin-1"))
    found, report = _found(CdxSource(str(path)))
    assert found == [f"201612011200 {A} {URL}"]
    assert report.lines == 3
    assert [problem.line for problem in report.problems] == [2, 3, 4, 5, 6]
    assert {problem.file for problem in report.problems} == {str(path)}
    assert report.problems_total == 5


def test_bytes_that_are_no_utf8_are_written_as_they_came(tmp_path: Path) -> None:
    path = tmp_path / "in.cdx"
    line = _line("2015", A).encode().replace(b"example.org", b"\xff\xc3")
    path.write_bytes(line + b"\n" + line.replace(b"2015", b"2016") + b"\n")
    output = io.BytesIO()
    find_duplicates([CdxSource(str(path))], output, CaptureFilter())
    assert output.getvalue() == f"2016 {A} ".encode() + b"http://www.\xff\xc3/\n"


@pytest.mark.parametrize("keep", list(Keep))
@pytest.mark.parametrize("key", list(Key))
def test_a_url_is_the_same_in_utf8_and_in_latin1(tmp_path: Path, key: Key, keep: Keep) -> None:
    """As in imports, which read invalid UTF-8 as ISO 8859-1."""
    dates = ("2015", "2016", "2017")
    lines = [f"- {date} {URL}caf\xe9 - - {A} - - 10 5 f" for date in dates]
    coded = [lines[0].encode(), lines[1].encode("latin-1"), lines[2].encode()]
    path = tmp_path / "in.cdx"
    path.write_bytes(b"\n".join([*coded, f"- 2018 {URL}cafe - - {B} - - 10 5 f".encode()]))
    output = io.BytesIO()
    report = find_duplicates([CdxSource(str(path))], output, CaptureFilter(key=key, keep=keep))
    assert (report.lines, report.keys) == (4, 2)
    listed = [line for line in coded if line[2:6] != (b"2017" if keep is Keep.NEWEST else b"2015")]
    wanted = [b"%b %b %b\n" % (line[2:6], A.encode(), line.split(b" ")[2]) for line in listed]
    assert output.getvalue() == b"".join(wanted)


def test_a_url_without_urlkey_stands_for_itself(tmp_path: Path) -> None:
    impossible = "http://example.org:99999/"
    lines = [f"{impossible} {A} 2015", f"{impossible} {A} 2016", f"{URL} {A} 2017"]
    source = CdxSource(_write(tmp_path, *lines).path, Layout("akb"))
    found, report = _found(source, selection=CaptureFilter(key=Key.URLKEY_DIGEST))
    assert found == [f"2016 {A} {impossible}"]
    assert report.keys == 2


def test_lines_that_end_in_cr_lf(tmp_path: Path) -> None:
    path = tmp_path / "in.cdx"
    lines = [" CDX N b a m s k r M S V g", _line("2015", A), _line("2016", A), "broken"]
    path.write_text("\r\n".join(lines), newline="")
    found, report = _found(CdxSource(str(path)))
    assert found == [f"2016 {A} {URL}"]
    assert [problem.line for problem in report.problems] == [4]


def test_strict_stops_at_the_first_broken_line(tmp_path: Path) -> None:
    source = _write(tmp_path, _line("2015", A), _line("2016", A), "broken")
    output = io.BytesIO()
    with pytest.raises(CdxError, match=r"in\.cdx:3: 1 fields"):
        find_duplicates([source], output, CaptureFilter(), strict=True)
    assert output.getvalue() == b""


def test_a_file_cut_in_pieces_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [_line(f"2015{number:010}"[:14], A, f"http://a/{number % 7}") for number in range(50)]
    lines = [line.replace("20150000", "20150101") for line in lines]
    lines[30] = "broken"
    source = _write(tmp_path, *lines, header=" CDX N b a m s k r M S V g\n")
    whole = _found(source)
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 300)
    monkeypatch.setattr(inputs, "_TASK_BYTES", 300)
    monkeypatch.setattr(blocks, "_BLOCK_BYTES", 250)
    pieces = _found(source)
    assert whole[0] == pieces[0]
    assert len(pieces[0]) == 42
    assert [problem.line for problem in pieces[1].problems] == [32]


def test_another_header_further_down_is_followed_over_all_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [_line(f"2015{month:02}", A) for month in range(1, 13)]
    second = [f"{URL} 2016{month:02} {A} x" for month in range(1, 13)]
    source = _write(
        tmp_path, *first, " CDX a b k r", *second, header=" CDX N b a m s k r M S V g\n"
    )
    whole = _found(source)
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 300)
    monkeypatch.setattr(inputs, "_TASK_BYTES", 300)
    assert _found(source)[0] == whole[0]
    assert len(whole[0]) == 23
    assert whole[1].problems_total == 0


def test_processes_share_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        _line(f"{2015 + number // 90}{number % 9 + 101:04}", A, f"http://a/{number % 90}")
        for number in range(999)
    ]
    source = _write(tmp_path, *lines)
    alone = _found(source, resources=Resources(workers=1))
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 20_000)
    shared = _found(source, resources=Resources(workers=2))
    assert shared == alone
    assert len(alone[0]) == 909


def test_little_memory_means_more_parts_and_the_same_lines(tmp_path: Path) -> None:
    lines = [
        _line(f"{2015 + number // 500}", A, f"http://a/{number % 500}") for number in range(1000)
    ]
    source = _write(tmp_path, *lines)
    small = _found(source, resources=Resources(memory_bytes=1 << 20))
    assert small == _found(source)
    assert len(small[0]) == 500


def test_the_summary_adds_up(tmp_path: Path) -> None:
    lines = [_line("2015", A), _line("2016", A, size="7"), _line("2017", A, size="-")]
    lines += [_line(date, B, "https://b.org:80/x", "image/png", "5") for date in ("2018", "2019")]
    _, report = _found(_write(tmp_path, *lines), summary=True)
    assert report.savings.bytes == 12
    assert report.savings.mime_duplicates == {"text/html": 2, "image/png": 1}
    assert report.savings.mime_bytes["text/html"] == 7
    assert report.savings.host_bytes == {"www.example.org": 7, "b.org": 5}


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    source = _write(tmp_path, _line("2015", A), _line("2016", A))
    _found(source, resources=Resources(folder=folder))
    assert list(folder.iterdir()) == []


def test_a_missing_folder_for_temporary_files_is_an_error(tmp_path: Path) -> None:
    source = _write(tmp_path, _line("2015", A))
    with pytest.raises(SourceError, match="none cannot be written: No such file"):
        _found(source, resources=Resources(folder=tmp_path / "none"))


def test_an_empty_file_has_no_duplicates(tmp_path: Path) -> None:
    assert _found(_write(tmp_path))[0] == []
