"""PDF: text, title and author, by pdfium. It is not thread-safe: use processes."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from nwx.extract.clean import BLOCK, clean_blocks, clean_line, prose
from nwx.extract.language import language_of
from nwx.extract.limits import ExtractPayload
from nwx.extract.signature import signature_of
from nwx.model import Extract

if TYPE_CHECKING:
    import pypdfium2

_LONGEST_FIELD = 5_000
_MOST_PROBLEMS = 10


def extract_pdf(payload: ExtractPayload) -> Extract:
    """Return the text of a PDF's pages, and its title and author."""
    # pdfium is loaded by the first PDF, not by everybody who imports nwx.
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(payload.data)) as document:
            return _extract(document, payload)
    except pypdfium2.PdfiumError as error:
        reason = "it is encrypted" if "password" in str(error).lower() else str(error)
        return Extract(problems=(f"pdf: cannot be opened: {reason}",))


def _extract(document: "pypdfium2.PdfDocument", payload: ExtractPayload) -> Extract:
    problems: list[str] = []
    text = BLOCK.join(_lines(document, payload, problems))
    limit = payload.limits.characters
    content, cut = clean_blocks(text, limit)
    if cut:
        problems.append(f"text: cut after {limit} characters")
    title, author = _metadata(document, "Title"), _metadata(document, "Author")
    return Extract(
        title=title,
        content=content,
        author=author,
        content_language=language_of(prose(content)),
        signature=signature_of(content),
        problems=tuple(problems),
    )


def _metadata(document: "pypdfium2.PdfDocument", key: str) -> str:
    """Return an entry of the document's information, "" where there is none to be read."""
    try:
        return clean_line(document.get_metadata_value(key)[:_LONGEST_FIELD])
    except UnicodeError:
        return ""


def _lines(
    document: "pypdfium2.PdfDocument", payload: ExtractPayload, problems: list[str]
) -> Iterator[str]:
    """Yield the lines of all pages within the limits."""
    import pypdfium2

    length = 0
    for number in range(len(document)):
        if number >= payload.limits.pages:
            problems.append(f"pages: {len(document)}, read {number}")
            return
        if payload.late():
            problems.append(
                f"time: more than {payload.limits.seconds} seconds at page {number + 1}"
            )
            return
        try:
            text = _page_text(document, number)
        except pypdfium2.PdfiumError as error:
            problems.append(f"pdf: page {number + 1} cannot be read: {error}")
            if len(problems) >= _MOST_PROBLEMS:
                return
            continue
        yield from text.replace(BLOCK, "").splitlines()
        length += len(text)
        if length > payload.limits.characters:
            return


def _page_text(document: "pypdfium2.PdfDocument", number: int) -> str:
    with closing(document[number]) as page, closing(page.get_textpage()) as textpage:
        return str(textpage.get_text_bounded())
