"""Collects the text of an office file: blocks, headings and links, within limits."""

from dataclasses import dataclass

from nwx.extract.links import RawLink, Resolver, outlinks
from nwx.extract.page import ExtractPayload
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract
from nwx.values.urls import A


class Stop(Exception):  # noqa: N818 - the content read before it is kept
    """A limit was reached; the content read before is kept. The message is a problem, or empty."""


_LONGEST_FIELD = 5_000
_MOST_PROBLEMS = 10


@dataclass(slots=True)
class Metadata:
    """The metadata of an office file."""

    title: str = ""
    author: str = ""
    description: str = ""
    language: str = ""


class OfficeText:
    """The text of an office file while it is read."""

    def __init__(self, payload: ExtractPayload) -> None:
        self._payload = payload
        self._pieces: list[str] = []
        self._left = payload.limits.characters + 1  # one more shows that text was cut
        self.headings: list[str] = []
        self._links: list[RawLink] = []
        self.metadata = Metadata()
        self.problems: list[str] = []

    def add(self, text: str) -> None:
        """Add characters; raises Stop when the limit is exceeded."""
        self._pieces.append(text)
        self._left -= len(text)
        if self._left <= 0:
            raise Stop

    def end_block(self) -> None:
        """End a block: a paragraph, a row etc."""
        if self._pieces and self._pieces[-1] != BLOCK:
            self._pieces.append(BLOCK)

    @property
    def mark(self) -> int:
        """The current position in the text, for `since`."""
        return len(self._pieces)

    def since(self, mark: int) -> str:
        """Return the text added since a mark, as one line, cut to `_LONGEST_FIELD` characters."""
        pieces, length = [], 0
        for piece in self._pieces[mark:]:
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST_FIELD:
                break
        return clean_line("".join(pieces).replace(BLOCK, " ")[:_LONGEST_FIELD])

    def add_heading(self, heading: str) -> None:
        """Add a heading, whose characters were added to the text before."""
        if heading and len(self.headings) < self._payload.limits.headings:
            self.headings.append(heading)

    def add_link(self, reference: str, text: str) -> None:
        """Add a link; at most about twice the limit is kept, to detect that it was exceeded."""
        if len(self._links) <= 2 * self._payload.limits.links:
            self._links.append((A, reference, text))

    def finish(self) -> Extract:
        """Return the extract of everything collected."""
        limits, metadata = self._payload.limits, self.metadata
        content, cut = clean_blocks("".join(self._pieces), limits.characters)
        problems = list(dict.fromkeys(self.problems))
        if len(problems) > _MOST_PROBLEMS:
            more = len(problems) - _MOST_PROBLEMS
            problems[_MOST_PROBLEMS:] = [f"office: {more} more problems"]
        if cut or self._left <= 0:
            problems.append(f"text: cut after {limits.characters} characters")
        links, too_many = outlinks(self._links, Resolver(self._payload.url), limits.links)
        if too_many:
            problems.append(f"links: more than {limits.links}, the rest was left out")
        late = self._payload.late()
        return Extract(
            title=_field(metadata.title) or next(iter(self.headings), ""),
            content=content,
            headings=tuple(self.headings),
            description=_field(metadata.description),
            author=_field(metadata.author),
            content_language=""
            if late
            else language_of(prose(content), clean_line(metadata.language[:100])),
            links=tuple(links),
            signature="" if late else signature_of(content),
            problems=tuple(problems),
        )


def _field(text: str) -> str:
    return clean_line(text[:_LONGEST_FIELD].replace(BLOCK, " "))
