"""The three dialects of CDX servers: what each takes for granted, and what it forbids."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nwx.cdxserver.query.filters import Grammar
from nwx.cdxserver.query.model import OutputForm
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a kind of CDX server understands a question and words its answer.

    `fields` are those of text and of rows of JSON; CDXJ without `fl` has
    all. `digest` is its spelling of digests, None as they are. `limit` and
    `page_blocks` stand where nothing is asked for; without blocks it has
    no pages. `json_lines` writes an object a line, `json_numbers` arrays
    that always begin with the names and hold numbers as such.
    """

    name: str
    grammar: Grammar
    output: OutputForm
    media_types: Mapping[OutputForm, str]
    fields: tuple[str, ...]
    digest: DigestForm | None
    limit: int | None = None
    zero_is_all: bool = True
    closest_needs_sort: bool = True
    many_urls_in_order_only: bool = False
    page_blocks: int = 0
    pages_as_object: bool = False
    json_lines: bool = False
    json_numbers: bool = False
    resumes: bool = False


_TEXT, _JSON, _LINES, _CDXJ = "text/plain", "application/json", "text/x-ndjson", "text/x-cdxj"

IA = Dialect(
    name="ia",
    grammar=Grammar.IA,
    output=OutputForm.TEXT,
    media_types=MappingProxyType(
        {OutputForm.TEXT: _TEXT, OutputForm.JSON: _JSON, OutputForm.CDXJ: _CDXJ}
    ),
    fields=("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"),
    digest=DigestForm.BARE,
    page_blocks=50,
    resumes=True,
)

PYWB = Dialect(
    name="pywb",
    grammar=Grammar.PYWB,
    output=OutputForm.CDXJ,
    media_types=MappingProxyType(
        {OutputForm.TEXT: _TEXT, OutputForm.JSON: _LINES, OutputForm.CDXJ: _CDXJ}
    ),
    fields=(
        *("urlkey", "timestamp", "url", "mime", "status", "digest"),
        *("redirect", "robotflags", "length", "offset", "filename"),
    ),
    digest=DigestForm.NORMAL,
    limit=100_000,
    closest_needs_sort=False,
    page_blocks=10,
    pages_as_object=True,
    json_lines=True,
)

OUTBACK = Dialect(
    name="outback",
    grammar=Grammar.OUTBACK,
    output=OutputForm.TEXT,
    media_types=MappingProxyType(
        {
            OutputForm.TEXT: _TEXT,
            OutputForm.JSON: _JSON,
            OutputForm.CDXJ: _CDXJ,
            OutputForm.JSONDICT: _JSON,
        }
    ),
    fields=(
        *("urlkey", "timestamp", "url", "mime", "status", "digest"),
        *("redirecturl", "robotflags", "length", "offset", "filename"),
    ),
    digest=DigestForm.BARE,
    zero_is_all=False,
    many_urls_in_order_only=True,
    json_numbers=True,
)

DIALECTS = MappingProxyType({dialect.name: dialect for dialect in (IA, PYWB, OUTBACK)})


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a name; raises CdxQueryError where there is none."""
    found = DIALECTS.get(name.lower())
    if found is None:
        raise CdxQueryError(f"dialect is {name[:40]!r}; choose one of {', '.join(DIALECTS)}")
    return found
