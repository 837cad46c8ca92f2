"""What errors say, in the language of the reader."""

from flask_babel import gettext

from nwx.errors import ErrorText, NwxError
from webapp.site import words


def error_text(error: NwxError | ErrorText) -> str:
    """Return what an error says in the language of the page.

    Texts that archives, servers and systems give are shown as they are.
    """
    text = error.text if isinstance(error, NwxError) else error
    if not text.values:
        return gettext(text.template) if text.template else ""
    return gettext(text.template) % {name: _shown(value) for name, value in text.values.items()}


def _shown(value: str | float | ErrorText) -> str:
    if isinstance(value, ErrorText):
        return error_text(value)
    if isinstance(value, int):
        return words.grouped(value)
    return words.number(value) if isinstance(value, float) else value
