"""The form of the crawl specification editor, and a preview of archived pages that match."""

from contextlib import suppress
from hashlib import blake2b

from flask import request

from nwx.errors import SpecificationError
from nwx.model import SearchResult
from nwx.steering.specifications.specification_files import (
    FORM_FIELDS,
    SpecificationForm,
    form_of_text,
    text_with_form,
)
from webapp.site.context import archive
from webapp.site.question_limits import answer_search

MOST_EDITED_CHARACTERS = 500_000
"""Longer specifications need the command: the body of a form must not be large."""

_PREVIEWED, _PREVIEWED_KEYWORDS = 5, 50


def editor_values(text: str) -> dict[str, object]:
    """Return the form of a text (None if unreadable), and the pages that match its keywords."""
    fields = form_of_text(text)
    return {
        "fields": fields,
        "collections": archive().collections(),
        "stamp": _stamp(fields) if fields else "",
        "preview": _preview(fields) if fields else None,
    }


def text_with_fields(text: str) -> str:
    """Return a text with the form fields that were changed since the form was shown."""
    given = {one: request.form.get(one, "").replace("\r\n", "\n") for one in FORM_FIELDS}
    shown = request.form.get("shown", "")
    fields = SpecificationForm(**given)
    if not shown or shown == _stamp(fields) or len(text) > MOST_EDITED_CHARACTERS:
        return text
    with suppress(SpecificationError):
        return text_with_form(text, fields)
    return text


def _stamp(fields: SpecificationForm) -> str:
    return blake2b(repr(fields).encode(), digest_size=8).hexdigest()


def _preview(fields: SpecificationForm) -> SearchResult | None:
    """Return the archived pages that match the keywords of a form, None without keywords."""
    words = [word.replace('"', " ").strip() for word in fields.keywords.splitlines()]
    query = " OR ".join(f'"{word}"' for word in words[:_PREVIEWED_KEYWORDS] if word)
    if not query:
        return None
    named = archive().collections()
    collection = fields.collection if fields.collection in named else ()
    found = archive().search(query, limit=_PREVIEWED, collection=collection)
    return answer_search(lambda: found.page())
