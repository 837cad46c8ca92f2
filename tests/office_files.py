"""Synthetic office files and books, valid and hostile, for tests and benchmarks."""

import struct
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from xml.sax.saxutils import escape

OFFICE_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CORE = f"{_PACKAGE}/relationships/metadata/core-properties"
_ODF = "application/vnd.oasis.opendocument."

Links = Mapping[str, str]
"""Link targets by link text."""


def zipped(parts: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP file of parts; `mimetype` is stored uncompressed, as the formats require."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in parts.items():
            file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return stream.getvalue()


def core(title: str, author: str, language: str = "") -> str:
    """Return the core properties of an Office Open XML file."""
    return (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
        f"<dc:language>{language}</dc:language></cp:coreProperties>"
    )


def relations(*targets: tuple[str, str, str]) -> str:
    """Return relationships: the id, the last word of the type, and the target of each."""
    outside = ' TargetMode="External"'
    found = "".join(
        f'<Relationship Id="{id}" Type="{OFFICE_DOCUMENT}/{kind}" Target="{escape(target)}"'
        f"{outside if kind == 'hyperlink' else ''}/>"
        for id, kind, target in targets
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{found}</Relationships>'


def _openxml(main: str, parts: Mapping[str, str], title: str, author: str) -> bytes:
    root = relations(
        ("r1", "officeDocument", main), ("r2", "metadata/core-properties", "docProps/core.xml")
    )
    types = f'<Types xmlns="{_PACKAGE}/content-types">{_types(main)}</Types>'
    known = {"[Content_Types].xml": types, "_rels/.rels": root}
    return zipped({**known, "docProps/core.xml": core(title, author), **parts})


def _types(main: str) -> str:
    kind = {
        "word": "wordprocessingml.document",
        "xl": "spreadsheetml.sheet",
        "ppt": "presentationml.presentation",
    }[main.partition("/")[0]]
    full = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    return (
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/{main}" ContentType="{full}"/>'
    )


def document(body: str) -> str:
    """Return the main part of a docx file."""
    return (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        f' xmlns:r="{OFFICE_DOCUMENT}"><w:body>{body}</w:body></w:document>'
    )


def docx(
    *lines: str, title: str = "", author: str = "", heading: str = "", links: Links | None = None
) -> bytes:
    """Return a docx file with one paragraph per line."""
    body = ""
    if heading:
        body = (
            '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
            f"<w:r><w:t>{escape(heading)}</w:t></w:r></w:p>"
        )
    body += "".join(f"<w:p><w:r><w:t>{escape(line)}</w:t></w:r></w:p>" for line in lines)
    targets = []
    for number, (text, address) in enumerate((links or {}).items()):
        targets.append((f"h{number}", "hyperlink", address))
        run = f"<w:r><w:t>{escape(text)}</w:t></w:r>"
        body += f'<w:p><w:hyperlink r:id="h{number}">{run}</w:hyperlink></w:p>'
    parts = {
        "word/document.xml": document(body),
        "word/_rels/document.xml.rels": relations(*targets),
    }
    return _openxml("word/document.xml", parts, title, author)


def sheet(rows: str) -> str:
    """Return a worksheet."""
    return (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{rows}</sheetData></worksheet>"
    )


def xlsx(
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    author: str = "",
    data: str = "",
    styles: str = "<styleSheet/>",
) -> bytes:
    """Return an xlsx file of one sheet named Lamps; `data` replaces the rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strings = list(dict.fromkeys(cell for row in rows for cell in row))
    numbers = {string: number for number, string in enumerate(strings)}
    filled = ""
    for row in rows:
        cells = "".join(f'<c t="s"><v>{numbers[cell]}</v></c>' for cell in row)
        filled += f"<row>{cells}</row>"
    shared = "".join(f"<si><t>{escape(string)}</t></si>" for string in strings)
    parts = {
        "xl/workbook.xml": (
            f'<workbook xmlns="{main}" xmlns:r="{OFFICE_DOCUMENT}">'
            '<sheets><sheet name="Lamps" sheetId="1" r:id="r1"/></sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": relations(
            ("r1", "worksheet", "worksheets/sheet1.xml"),
            ("r2", "sharedStrings", "sharedStrings.xml"),
            ("r3", "styles", "styles.xml"),
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{shared}</sst>',
        "xl/styles.xml": styles,
        "xl/worksheets/sheet1.xml": sheet(data or filled),
    }
    return _openxml("xl/workbook.xml", parts, title, author)


def pptx(
    slides: Sequence[tuple[str, str]], *, title: str = "", author: str = "", link: str = ""
) -> bytes:
    """Return a pptx file of slides, each with a title and a line that links to `link`."""
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    names = f'xmlns:p="{main}" xmlns:r="{OFFICE_DOCUMENT}"'
    names += ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in range(len(slides)))
    parts = {
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"s{n}", "slide", f"slides/slide{n + 1}.xml") for n in range(len(slides)))
        ),
    }
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="{id}" name="x"/><p:cNvSpPr/><p:nvPr>{place}</p:nvPr>'
        "</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r>{properties}<a:t>{text}</a:t></a:r>"
        "</a:p></p:txBody></p:sp>"
    )
    linked = '<a:rPr><a:hlinkClick r:id="h1"/></a:rPr>' if link else ""
    for number, (heading, line) in enumerate(slides, 1):
        shapes = shape.format(id=2, place='<p:ph type="title"/>', properties="", text=heading)
        shapes += shape.format(id=3, place="", properties=linked, text=escape(line))
        parts[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {names}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
        if link:
            parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(("h1", "hyperlink", link))
    return _openxml("ppt/presentation.xml", parts, title, author)


def opendocument(
    kind: str, body: str, *, title: str = "", author: str = "", language: str = ""
) -> bytes:
    """Return an OpenDocument file: `kind` is text, spreadsheet or presentation."""
    base = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(
        f'xmlns:{name}="{base}:{long or name}:1.0"'
        for name, long in {
            **dict.fromkeys(("office", "text", "table", "presentation", "meta"), ""),
            "draw": "drawing",
        }.items()
    )
    names += ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    names += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    meta = (
        f"<office:document-meta {names}><office:meta><dc:title>{escape(title)}</dc:title>"
        f"<meta:initial-creator>{escape(author)}</meta:initial-creator>"
        f"<dc:creator>An editor</dc:creator><dc:language>{language}</dc:language>"
        "</office:meta></office:document-meta>"
    )
    content = (
        f"<office:document-content {names}><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    manifest = (
        f'<manifest:manifest xmlns:manifest="{base}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{_ODF}{kind}"/>'
        "</manifest:manifest>"
    )
    parts = {"mimetype": f"{_ODF}{kind}", "content.xml": content, "meta.xml": meta}
    return zipped({**parts, "META-INF/manifest.xml": manifest})


def epub(
    *chapters: str, title: str = "", author: str = "", language: str = "en", extra: str = ""
) -> bytes:
    """Return a book of chapters, each the body of a page; `extra` precedes the first."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in numbers
    )
    order = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>{escape(author)}</dc:creator>"
        f"<dc:language>{language}</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="OEBPS/book.opf"'
        ' media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    pages = {
        f"OEBPS/text/c{n}.xhtml": f'{extra}<html xmlns="http://www.w3.org/1999/xhtml"><head>'
        f"<title>{n}</title></head><body>{chapter}</body></html>"
        for n, chapter in enumerate(chapters, 1)
    }
    known = {"mimetype": "application/epub+zip", "META-INF/container.xml": container}
    return zipped({**known, "OEBPS/book.opf": package, **pages})


def rtf(*lines: str, title: str = "", author: str = "", body: str = "") -> bytes:
    """Return an RTF file with one paragraph per line, followed by the RTF in `body`."""
    paragraphs = "".join(f"{_rtf_text(line)}\\par\n" for line in lines)
    info = f"{{\\info{{\\title {_rtf_text(title)}}}{{\\author {_rtf_text(author)}}}}}"
    fonts = "{\\fonttbl{\\f0\\fcharset0 Times;}{\\f1\\fcharset204 Times Cyr;}}"
    text = f"{{\\rtf1\\ansi\\ansicpg1252\\deff0\\deflang1033{fonts}{info}\n{paragraphs}{body}}}"
    return text.encode("ascii")


def _rtf_text(text: str) -> str:
    return "".join(c if c.isascii() else f"\\u{ord(c)}?" for c in text)


BOMB_ENTITIES = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "' + f"&{chr(97 + n)};" * 10 + '">' for n in range(9))
    + "]>"
)
"""Declares the entity j, which expands to ten thousand million characters."""

EXTERNAL_ENTITY = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'


def _docx_of(xml: str) -> bytes:
    return zipped({"[Content_Types].xml": _types_part(), **_rels(), "word/document.xml": xml})


def _types_part() -> str:
    return f'<Types xmlns="{_PACKAGE}/content-types">{_types("word/document.xml")}</Types>'


def _rels() -> dict[str, str]:
    return {"_rels/.rels": relations(("r1", "officeDocument", "word/document.xml"))}


def _paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def lying_lengths(data: bytes) -> bytes:
    """Return a ZIP file that declares a length of 4 GiB less two bytes for every entry."""
    changed = bytearray(data)
    for magic, place in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        position = changed.find(magic)
        while position >= 0:
            struct.pack_into("<I", changed, position + place, 0xFFFFFFFE)
            position = changed.find(magic, position + 4)
    return bytes(changed)


def hostile_files(size: int) -> dict[str, bytes]:
    """Return files that exploit naive readers; `size` is the approximate harm in bytes."""
    attributes = " ".join(f'a{number}="1"' for number in range(size // 12))
    strings = '<c t="s"><v>0</v></c>'
    return {
        "zip bomb": _docx_of(document(_paragraph("a" * size))),
        "zip bomb of tags": _docx_of(document("<w:p/>" * (size // 6))),
        "entity bomb": _docx_of(BOMB_ENTITIES + document(_paragraph("here &j;"))),
        "external entity": _docx_of(EXTERNAL_ENTITY + document(_paragraph("here &e;"))),
        "quadratic blow-up": _docx_of(
            '<!DOCTYPE x [<!ENTITY a "'
            + "a" * (size // 100)
            + '">]>'
            + document(_paragraph("&a;" * (size // 100)))
        ),
        "deep nesting": _docx_of(document("<w:p>" * (size // 11) + "</w:p>" * (size // 11))),
        "attributes": _docx_of(document(f"<w:p {attributes}/>")),
        "broken directory": docx("here")[:-30],
        "lying lengths": lying_lengths(docx("here")),
        "repeated strings": xlsx([["a" * 30_000]], data=f"<row>{strings * (size // 22)}</row>"),
        "cells": xlsx([["here"]], data="<row><c><v>1</v></c></row>" * (size // 26)),
        "empty cells": xlsx([["here"]], data="<row>" + "<c/>" * (size // 4) + "</row>"),
        "repeated columns": opendocument(
            "spreadsheet",
            '<table:table table:name="Sheet1"><table:table-row'
            ' table:number-rows-repeated="1048576"><table:table-cell'
            ' table:number-columns-repeated="16384"><text:p>here</text:p></table:table-cell>'
            "</table:table-row></table:table>",
        ),
        "spaces": opendocument("text", '<text:p>here<text:s text:c="2000000000"/></text:p>'),
        "deep RTF": b"{\\rtf1 here " + b"{" * size,
        "endless RTF": b"{\\rtf1 here " + b"\\b1\\b0\\'e9" * (size // 10),
        "RTF of lying binary": b"{\\rtf1 here {\\pict\\bin999999999 x} there}",
    }
