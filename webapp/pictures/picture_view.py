"""Questions about pictures as addresses have them, and the addresses that lead on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from flask_babel import lazy_gettext

from nwx.engine.indices.picture_index import COLOURS, ImageSize, PictureQuestion
from nwx.errors import ErrorText, UsageError
from webapp.site import parameters
from webapp.site.parameters import Arguments

PICTURES_A_PAGE = 50
MOST_PICTURE_PAGES = 200

IMAGE_SIZES = {
    ImageSize.ICON: lazy_gettext("Icons"),
    ImageSize.SMALL: lazy_gettext("Small"),
    ImageSize.MEDIUM: lazy_gettext("Medium"),
    ImageSize.LARGE: lazy_gettext("Large"),
}
COLOUR_NAMES = {
    "black": lazy_gettext("black"),
    "white": lazy_gettext("white"),
    "grey": lazy_gettext("grey"),
    "red": lazy_gettext("red"),
    "orange": lazy_gettext("orange"),
    "brown": lazy_gettext("brown"),
    "yellow": lazy_gettext("yellow"),
    "green": lazy_gettext("green"),
    "turquoise": lazy_gettext("turquoise"),
    "blue": lazy_gettext("blue"),
    "purple": lazy_gettext("purple"),
    "pink": lazy_gettext("pink"),
}


FILTER_FIELDS = {
    "host": "hosts",
    "domain": "domains",
    "collection": "collections",
    "year": "years",
}
"""The parameters of filters by values, and the fields of a question that hold these."""


class PictureFilter(NamedTuple):
    """A filter that is set: its value for people, and the address without it."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class PictureAddresses:
    """Where the links of a page of pictures lead: the same question with one thing changed."""

    base: str
    question: PictureQuestion

    @property
    def page_number(self) -> int:
        """The number of this page, counted from 1."""
        return self.question.offset // PICTURES_A_PAGE + 1

    def page(self, number: int) -> str:
        """Return the address of another page."""
        return self._of(self.question, number)

    def filters(self) -> list[PictureFilter]:
        """Return the filters that are set beside the form's, each with the address without it."""
        asked = self.question
        return [
            PictureFilter(value, self._of(_without(asked, field, value)))
            for field in FILTER_FIELDS.values()
            for value in getattr(asked, field)
        ]

    def _of(self, asked: PictureQuestion, page: int = 1) -> str:
        pairs = [("q", asked.query)] if asked.query else []
        pairs += [("size", asked.size)] if asked.size else []
        pairs += [("colour", one) for one in asked.colours]
        pairs += [
            (name, one) for name, field in FILTER_FIELDS.items() for one in getattr(asked, field)
        ]
        pairs += [("page", str(page))] if page > 1 else []
        return f"{self.base}?{urlencode(pairs)}"


def _without(asked: PictureQuestion, field: str, value: str) -> PictureQuestion:
    left: Any = tuple(one for one in getattr(asked, field) if one != value)
    return replace(asked, **{field: left})


def read_picture_question(arguments: Arguments) -> PictureQuestion:
    """Return the question of an address, without what says how much of the answer is wanted.

    Raises UsageError for values that make no sense.
    """
    filters: Mapping[str, Any] = parameters.filters(arguments)
    return PictureQuestion(
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        size=_size(arguments),
        colours=_colours(arguments),
        **{field: filters.get(name, ()) for name, field in FILTER_FIELDS.items()},
    )


def read_picture_page(arguments: Arguments) -> PictureQuestion:
    """Return the question of a page of pictures; raises as `read_picture_question` does."""
    page = parameters.number_parameter(arguments, "page", 1, 1, MOST_PICTURE_PAGES)
    question = read_picture_question(arguments)
    return replace(question, offset=(page - 1) * PICTURES_A_PAGE, limit=PICTURES_A_PAGE)


def read_hash(arguments: Arguments) -> int | None:
    """Return the hash of an address, 16 hex digits, None where it has none."""
    digits = parameters.text(arguments, "hash", 16)
    if not digits:
        return None
    if len(digits) != 16 or not set(digits) <= _HEX_DIGITS:
        raise UsageError(ErrorText("hash has 16 hex digits"))
    return int(digits, 16)


_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def _size(arguments: Arguments) -> ImageSize | None:
    value = parameters.text(arguments, "size", 20)
    if value and value not in set(ImageSize):
        raise UsageError(
            ErrorText(
                "size is %(value)s; choose one of %(choices)s",
                value=repr(value),
                choices=", ".join(ImageSize),
            )
        )
    return ImageSize(value) if value else None


def _colours(arguments: Arguments) -> tuple[str, ...]:
    values = tuple(dict.fromkeys(one for one in arguments.getlist("colour") if one))
    for value in values:
        if value not in COLOURS:
            raise UsageError(
                ErrorText(
                    "colour is %(value)s; choose one of %(choices)s",
                    value=repr(value[:40]),
                    choices=", ".join(COLOURS),
                )
            )
    return values
