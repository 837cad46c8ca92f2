"""Texts of pages as the conversion records of WET files have them."""

from nwx.exports.extracted.wat import html_payload
from nwx.extract import extract
from nwx.model import Extract
from nwx.values.http import charset_of, to_text
from nwx.warc.record import Record


def extract_page(record: Record) -> Extract | None:
    """Return the extract of the HTML page of a record, None where it has none."""
    page = html_payload(record)
    if page is None:
        return None
    data, content_type = page
    url = to_text(record.fields.get(b"warc-target-uri")).strip(" <>")
    return extract(
        data,
        url=url,
        content_type_norm="html",
        content_type=content_type,
        charset=charset_of(content_type),
    )


def page_text(found: Extract) -> str:
    """Return the title of a page and its text, a line for each block."""
    return "\n".join(filter(None, (found.title, found.content)))
