"""What an import can be told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nwx.bulk.resources import processors
from nwx.errors import UsageError
from nwx.keys import check_collection
from nwx.model import DEFAULT_COLLECTION, PARSERS, Extract

if TYPE_CHECKING:
    from nwx.extract.extractors import Extractor  # loads the libraries that extract


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import.

    With `deduplicate` a capture whose document is known costs a date only;
    without, each has a document of its own.
    `item_seconds` and `item_bytes` bound what one document may take to
    extract; `patience_seconds` is how long an engine that went away is
    waited for. On a server, other importers take over what this one has not
    finished when they saw no sign of it for `lease_seconds`. `extract` takes
    the place of `nwx.extract.extract`, and must be a function that other
    processes can import. Payloads that lie in other files are read within
    the `external` folders only. `extractors` are asked for the text of
    payloads in which `extract` finds none.
    """

    collection: str = DEFAULT_COLLECTION
    jobs: int = 0
    verify: bool = False
    deduplicate: bool = True
    parser: str = "fast"
    item_seconds: float = 20.0
    item_bytes: int = 2 << 30
    patience_seconds: float = 120.0
    lease_seconds: float = 60.0
    extract: Callable[..., Extract] | None = None
    external: tuple[str, ...] = ()
    extractors: "tuple[Extractor, ...]" = ()

    def __post_init__(self) -> None:
        check_collection(self.collection)
        if self.parser not in PARSERS:
            raise UsageError(f"there is no parser {self.parser!r}; use {' or '.join(PARSERS)}")
        if self.jobs < 0 or min(self.item_seconds, self.lease_seconds) <= 0:
            raise UsageError("jobs and time limits must be greater than 0")

    @property
    def processes(self) -> int:
        """The number of files to read at once: `jobs`, or the cores this process may use."""
        return self.jobs or processors()
