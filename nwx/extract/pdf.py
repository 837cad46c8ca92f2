"""PDF: text, title and author, by pdfium."""

from nwx.extract.clean import clean_blocks, prose
from nwx.extract.language import language_of
from nwx.extract.limits import ExtractPayload
from nwx.extract.pdf_process import read_pdf
from nwx.extract.signature import signature_of
from nwx.model import Extract


def extract_pdf(payload: ExtractPayload) -> Extract:
    """Return the text of a PDF's pages, and its title and author."""
    found = read_pdf(payload)
    problems = list(found.problems)
    limit = payload.limits.characters
    content, cut = clean_blocks(found.text, limit)
    if cut:
        problems.append(f"text: cut after {limit} characters")
    return Extract(
        title=found.title,
        content=content,
        author=found.author,
        content_language=language_of(prose(content)),
        signature=signature_of(content),
        problems=tuple(problems),
    )
