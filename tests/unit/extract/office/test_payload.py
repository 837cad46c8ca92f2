"""Office files and books: text, metadata and links of each format, whatever the served type."""

from collections.abc import Callable

import pytest

from nwx.extract import ExtractLimits, extract
from nwx.model import Extract, Link
from tests import office_files as made

URL = "http://a.example/files/a"
PROSE = "The lamps of the old harbour burn all night long, and nobody knows who lights them."


def read(data: bytes, kind: str = "office", limits: ExtractLimits | None = None) -> Extract:
    return extract(data, url=URL, content_type_norm=kind, limits=limits or ExtractLimits())


def test_docx() -> None:
    links = {"the map": "map.html", "a site": "https://b.example/?a=1&b=2"}
    data = made.docx(PROSE, "K\xf6ln", title="Lamps", author="Ada", heading="One", links=links)
    found = read(data)
    assert found.content == f"One\n{PROSE}\nK\xf6ln\nthe map\na site"
    assert (found.title, found.author, found.content_language) == ("Lamps", "Ada", "en")
    assert found.headings == ("One",)
    assert found.links == (
        Link("http://a.example/files/map.html", "the map"),
        Link("https://b.example/?a=1&b=2", "a site"),
    )
    assert found.problems == ()


def test_docx_fields_breaks_and_fallbacks() -> None:
    body = (
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r>"
        '<w:r><w:instrText> HYPERLINK "http://c.example/" </w:instrText></w:r>'
        "<w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>go</w:t></w:r>"
        "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
        "<w:r><w:tab/><w:t>one</w:t><w:br/><w:t>two</w:t><w:delText>gone</w:delText></w:r></w:p>"
        "<w:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></w:Fallback>"
    )
    found = read(made.zipped({"word/document.xml": made.document(body)}))
    assert found.content == "go one two"
    assert found.links == (Link("http://c.example/", "go"),)


def test_xlsx() -> None:
    found = read(made.xlsx([["harbour", "lamp"], ["north", "lamp"]], title="Counts", author="Ada"))
    assert found.content == "Lamps\nharbour lamp\nnorth lamp"
    assert (found.title, found.author) == ("Counts", "Ada")
    cells = (
        '<row><c><v>41.5</v></c><c t="inlineStr"><is><t>inline</t></is></c>'
        '<c t="s"><v>99</v></c><c t="s"><v>x</v></c></row>'
    )
    assert read(made.xlsx([["a"]], data=cells)).content == "Lamps\n41.5 inline"


def test_pptx() -> None:
    slides = [("First", "one"), ("Second", "two")]
    found = read(made.pptx(slides, author="Ada", link="http://b.example/"))
    assert found.content == "First\none\nSecond\ntwo"
    assert (found.title, found.author) == ("First", "Ada")  # without a title: the first heading
    assert found.headings == ("First", "Second")
    assert found.links == (Link("http://b.example/", "one"),)


def test_odt() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        '<text:h>Lamps</text:h><text:p>a<text:s text:c="2"/>b<text:tab/>'
        '<text:a xlink:href="http://b.example/">there</text:a></text:p>'
    )
    data = made.opendocument("text", body, title="A title", author="Ada", language="de-DE")
    found = read(data)
    assert found.content == "Lamps\na b there"
    assert (found.title, found.author, found.headings) == ("A title", "Ada", ("Lamps",))
    assert found.links == (Link("http://b.example/", "there"),)


def test_ods_and_odp() -> None:
    row = "".join(f"<table:table-cell><text:p>{n}</text:p></table:table-cell>" for n in (1, 2))
    table = f'<table:table table:name="T"><table:table-row>{row}</table:table-row></table:table>'
    assert read(made.opendocument("spreadsheet", table * 2)).content == "T\n1 2\nT\n1 2"
    page = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Up</text:p>'
        "</draw:text-box></draw:frame><draw:frame><text:p>down</text:p></draw:frame></draw:page>"
    )
    found = read(made.opendocument("presentation", page))
    assert (found.content, found.title, found.headings) == ("Up\ndown", "Up", ("Up",))


def test_epub() -> None:
    chapters = (
        '<h1>One</h1><p>first&#160;text <a href="c2.xhtml">next</a></p>',
        '<h1>Two</h1><p>second <a href="http://b.example/">out</a></p>',
    )
    found = read(made.epub(*chapters, title="A book", author="Ada"))
    assert found.content == "One\nfirst text next\nTwo\nsecond out"
    assert (found.title, found.author, found.headings) == ("A book", "Ada", ("One", "Two"))
    assert found.links == (Link("http://b.example/", "out"),)


def test_rtf() -> None:
    body = (
        r"{\f1 \'cb\'e0\'ec\'ef\'fb}\par{\field{\*\fldinst HYPERLINK "
        r'"http://b.example/"}{\fldrslt {\ul there}}}\par'
        r"\u-10179?\u-8704? {\*\generator no}{\pict 00ff}a\emdash b\~c\{d\}"
    )
    found = read(made.rtf("K\xf6ln", PROSE, title="L\xe4mps", author="Ada", body=body))
    assert found.content.split("\n") == [
        *("K\xf6ln", PROSE, "Лампы", "there", "\U0001f600 a—b c{d}"),
    ]
    assert (found.title, found.author) == ("L\xe4mps", "Ada")
    assert found.links == (Link("http://b.example/", "there"),)
    assert found.problems == ()


@pytest.mark.parametrize(
    ("head", "byte"),
    [
        ("\\ansi", "e9"),
        ("\\mac", "8e"),
        ("\\pc", "82"),
        ("\\pca", "82"),
        ("\\mac\\ansicpg1252", "e9"),
        ("\\ansi\\ansicpg10000", "8e"),
        ("\\ansi{\\fonttbl{\\f0\\fcharset255 Terminal;}}\\f0", "82"),
        ("\\ansi{\\fonttbl{\\f0\\fcharset77 Geneva;}}\\f0", "8e"),
    ],
)
def test_rtf_is_read_in_its_code_page(head: str, byte: str) -> None:
    found = read(f"{{\\rtf1{head} caf\\'{byte} {PROSE}\\par}}".encode())
    assert found.content == f"caf\xe9 {PROSE}"


@pytest.mark.parametrize("kind", ["html", "text", "pdf", "archive", "unknown", "other"])
def test_the_bytes_tell_the_format(kind: str) -> None:
    assert read(made.docx("here"), kind).content == "here"
    assert read(made.rtf("here"), kind).content == "here"


def test_any_other_zip_file_and_the_binary_formats_have_no_text() -> None:
    assert read(made.zipped({"a.txt": "here"}), "archive") == Extract()
    assert read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)) == Extract()


def test_text_is_cut() -> None:
    found = read(made.docx("one two", "three"), limits=ExtractLimits(characters=5))
    assert (found.content, found.problems) == ("one t", ("text: cut after 5 characters",))


def test_a_file_that_is_cut_off_gives_what_is_there() -> None:
    whole = made.docx(PROSE, heading="One", title="Lamps")
    found = read(whole[: whole.index(b"word/_rels")])
    assert found.content == f"One\n{PROSE}"
    assert "cut off" in found.problems[0]
    found = read(made.rtf(PROSE, "more")[:-5])
    assert found.content.startswith(PROSE)
    assert "cut off" in found.problems[0]


HOSTILE = made.hostile_files(400_000)
TOLD = {
    "zip bomb": "",
    "entity bomb": "declares entities",
    "external entity": "declares entities",
    "quadratic blow-up": "declares entities",
    "deep nesting": "deeper than 2000",
    "broken directory": "directory",
    "repeated strings": "text: cut",
    "deep RTF": "deeper than 5000",
    "RTF of lying binary": "cut off",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_bounded(name: str) -> None:
    limits = ExtractLimits(characters=50_000)
    found = read(HOSTILE[name], limits=limits)
    assert len(found.content) <= limits.characters
    assert TOLD.get(name, "") in " ".join(found.problems)
    assert "root:" not in found.content


def test_lying_lengths_are_not_believed() -> None:
    assert read(HOSTILE["lying lengths"]).content == "here"
    assert read(HOSTILE["repeated columns"]).content == "Sheet1\nhere"


def test_what_unpacks_to_too_much_and_what_takes_too_long_is_cut() -> None:
    tags = made.zipped({"word/document.xml": made.document("<w:p/>" * 400_000)})
    found = read(tags, limits=ExtractLimits(unpacked_bytes=1 << 20))
    assert found.problems == ("size: more than 1 MiB unpacked, the rest was left out",)
    for data in (tags, b"{\\rtf1 here " + b"\\b1\\b0" * 50_000):
        found = read(data, limits=ExtractLimits(seconds=0.02))
        assert found.problems == ("time: more than 0.01 seconds, the rest was left out",)


def test_a_tag_of_many_megabytes_is_not_read() -> None:
    body = "<w:p><w:t>here</w:t></w:p><w:p a='" + "a" * (6 << 20) + "'/>"
    for after in ("", "<w:p/>" * 100_000):
        found = read(made.zipped({"word/document.xml": made.document(body + after)}))
        assert found.content == "here"
        assert found.problems == ("office: word/document.xml has a tag of more than 4 MiB",)


def test_encrypted_parts_are_told() -> None:
    data = bytearray(made.docx("here"))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = data.find(magic)
        while position >= 0:
            data[position + place] |= 1
            position = data.find(magic, position + 4)
    found = read(bytes(data))
    assert found.content == ""
    assert "is encrypted" in found.problems[0]


@pytest.mark.parametrize("make", [made.docx, made.epub, made.rtf])
def test_no_damage_raises(make: Callable[..., bytes]) -> None:
    whole = make("<p>a word or two</p>")
    for position in range(0, len(whole), 7):
        for changed in (0, 0xFF, whole[position] ^ 1):
            read(whole[:position] + bytes((changed,)) + whole[position + 1 :])
