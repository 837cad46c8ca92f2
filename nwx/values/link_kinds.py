"""Kinds of links: what a browser loads with a page, and what a reader follows."""

A, AREA, FORM, REFRESH = "a", "area", "form", "refresh"
IMG, SCRIPT, STYLESHEET, ICON = "img", "script", "stylesheet", "icon"
FRAME, MEDIA, CSS = "frame", "media", "css"
CANONICAL, ALTERNATE, LINK = "canonical", "alternate", "link"
OUTLINK = "outlink"
"""What only a metadata record of a crawler names, found in a script or guessed."""

EMBEDDED = frozenset({IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS})
"""Kinds of what a browser loads to show a page; `css` is a `url()` of a style sheet, such as a
background or a font, and `media` is audio, video, tracks and plug-in objects."""

NAVIGATIONAL = frozenset({A, AREA, REFRESH})
"""Kinds of links that lead to another page; a form leads to one only with its values."""

KINDS = (
    *(A, AREA, REFRESH, FORM),
    *(IMG, SCRIPT, STYLESHEET, ICON, FRAME, MEDIA, CSS),
    *(CANONICAL, ALTERNATE, LINK),
)
"""All kinds that are counted by themselves; `link` is a `<link>` of any other relation."""

_OLDER = {
    "body": IMG,
    "input": IMG,
    "iframe": FRAME,
    "meta": REFRESH,
    **dict.fromkeys(("audio", "video", "source", "track", "embed", "object"), MEDIA),
}
"""Archives of older versions have the names of elements as kinds."""


def present_kind(kind: str) -> str:
    """Return the kind of a stored link; archives of older versions have names of elements."""
    return _OLDER.get(kind, kind)
