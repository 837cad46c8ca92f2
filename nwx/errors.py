"""All errors that nwx raises on purpose.

NwxError
├── UsageError                 an invalid option, value or combination (exit code 2)
│   ├── SettingsError          an invalid value in the environment or a configuration file
│   ├── QueryError             a query that cannot be parsed; has the position
│   ├── SpecificationError     an invalid crawl specification; has all problems
│   ├── CdxQueryError          an invalid parameter of the CDX server
│   └── ProtocolError          an invalid request to a crawler's queue; has the item
├── FormatError                bytes that do not follow their format; has file and offset
│   ├── TimestampError
│   ├── DigestError
│   ├── UrlError
│   └── CdxError               a CDX or CDXJ line; has file and line
├── SourceError                a file, folder or address that cannot be opened or read
│   ├── SourceConflictError    another file of the same name is already in the archive
│   └── CaptureIndexError      a served capture index that cannot be read; names no paths
├── WithheldError              an answer that would reveal what access rules hide
├── CrawlerError               a crawler's queue refuses a request; has the item
│   └── CrawlerUnavailableError unavailable or busy: the request can be repeated later
├── JobError                   work on Spark that cannot start, or fails on a machine
└── EngineError                an engine that cannot carry out a request
    ├── EngineUnavailableError unavailable, or does not answer in time
    │   └── PartialAnswerError some of its shards do not answer
    ├── EngineBusyError        another writer holds it
    ├── EngineConflictError    another writer replaced the same data first
    ├── EngineVersionError     its index was made by another version of nwx
    ├── EngineFullError        no space left to write
    ├── NotBuiltError          an index that was never built
    ├── QuestionTimeoutError   a query that exceeds its time limit
    ├── BlobError              a stored blob is missing or damaged
    ├── StaleMarkError         a mark in the captures that the archive does not recognize
    └── WindowError            a page beyond the last that can be requested

A message is lower case: what was found, where, what to do. A message that can appear on a page
is an ErrorText (`raise QueryError.translated(...)`), which pages show in the reader's language.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from nwx.data_classes import dataclass

_Errors = type[Exception] | tuple[type[Exception], ...]


class ErrorText:
    """The English text of an error, with the template and values for its translation.

    `template` is the text with gettext's placeholders, `%(name)s`, and `values` has their values;
    without values, a `%` is literal. Write it as a literal at the call, so that `make messages`
    finds it. Pass counts as numbers: they are formatted with the language's thousands separators.
    Pass errors as objects: they are also translated. Other values are stored as text.
    """

    __slots__ = ("template", "values")

    def __init__(self, template: str, **values: object) -> None:
        self.template = template
        self.values: dict[str, str | int | float | ErrorText] = {
            name: _value(value) for name, value in values.items()
        }

    def __str__(self) -> str:
        if not self.values:
            return self.template
        return self.template % {name: _english(value) for name, value in self.values.items()}

    def to_json(self) -> dict[str, object]:
        """Return the text as a JSON object that `from_json` reads."""
        values = {
            name: value.to_json() if isinstance(value, ErrorText) else value
            for name, value in self.values.items()
        }
        return {"template": self.template, "values": values}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Self:
        """Return the text that `to_json` wrote."""
        values = {
            name: cls.from_json(value) if isinstance(value, dict) else value
            for name, value in written["values"].items()
        }
        return cls(written["template"], **values)


class NwxError(Exception):
    """The root of all errors that nwx raises on purpose.

    `text` is the message; `str` returns it in English.
    """

    def __init__(self, text: str | ErrorText) -> None:
        self.text = text if isinstance(text, ErrorText) else ErrorText(text)
        super().__init__(str(text))

    @classmethod
    def translated(cls, template: str, **values: object) -> Self:
        """Return the error with an ErrorText of a template and its values."""
        return cls(ErrorText(template, **values))

    @classmethod
    def instead_of(cls, errors: _Errors, what: str) -> "InsteadOf":
        """Return a context in which this error, `<what>: <reason>`, replaces `errors`."""
        return InsteadOf(cls, errors, what)


@dataclass(frozen=True, slots=True)
class InsteadOf:
    """A context in which an error replaces other errors and keeps their reason."""

    kind: type[NwxError]
    errors: _Errors
    what: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self.errors):
            raise self.kind(f"{self.what}: {system_reason(error)}") from error


class UsageError(NwxError):
    """An invalid option, value or combination of them."""


class SettingsError(UsageError):
    """An invalid value in the environment or in a configuration file."""


class QueryError(UsageError):
    """A query that cannot be parsed or compiled.

    `position` is the offset in characters from the start of `query`, or None if the error has no
    single position.
    """

    def __init__(
        self, message: str | ErrorText, query: str = "", position: int | None = None
    ) -> None:
        super().__init__(message)
        self.query = query
        self.position = position


class SpecificationError(UsageError):
    """An invalid crawl specification; `problems` lists everything wrong with it."""

    def __init__(self, file: str, problems: Sequence[Any]) -> None:
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))
        self.file = file
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type, tuple[str, Sequence[Any]]]:
        return type(self), (self.file, self.problems)


class CdxQueryError(UsageError):
    """An invalid parameter of the CDX server."""


class ProtocolError(UsageError):
    """An invalid request to a crawler's queue.

    `item` is the position of the invalid item, from 0, or None if the error concerns no single
    item.
    """

    def __init__(self, message: str | ErrorText, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


class FormatError(NwxError):
    """Bytes that do not follow their format.

    `file` is a file name, `offset` is in bytes from its start; both may be unknown.
    """

    def __init__(
        self, message: str | ErrorText, file: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset


class TimestampError(FormatError):
    """Text that is not a CDX timestamp or WARC date."""


class DigestError(FormatError):
    """Text that is not a digest, or a digest that does not match its bytes."""


class UrlError(FormatError):
    """Text that is not a valid URL."""


class CdxError(FormatError):
    """A CDX or CDXJ line that cannot be read; `line` counts from 1."""

    def __init__(
        self, message: str | ErrorText, file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(message, file)
        self.line = line


class SourceError(NwxError):
    """A file, folder or address that cannot be opened or read."""


class SourceConflictError(SourceError):
    """Another file of the same name is already in the archive."""


class CaptureIndexError(SourceError):
    """A served capture index that cannot be read; the message names no paths."""


class WithheldError(NwxError):
    """An answer that cannot be given without data that access rules hide from the user."""


class CrawlerError(NwxError):
    """A request that a crawler's queue refuses.

    `item` is the position of the refused item, from 0, or None if the queue names none.
    """

    def __init__(self, message: str | ErrorText, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


class CrawlerUnavailableError(CrawlerError):
    """A crawler's queue that is unavailable or busy; retry after `retry_seconds`."""

    def __init__(self, message: str | ErrorText, retry_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class JobError(NwxError):
    """Work on Spark that cannot start or fails on a machine."""


class EngineError(NwxError):
    """An engine that cannot carry out a request."""


class NoArchiveError(EngineError):
    """A folder or server that contains no archive."""


class EngineUnavailableError(EngineError):
    """An engine that is unavailable or does not answer in time."""


class PartialAnswerError(EngineUnavailableError):
    """An engine with unavailable shards: its answer would be incomplete."""


class EngineBusyError(EngineError):
    """An engine that another writer holds."""


class EngineConflictError(EngineError):
    """Another writer replaced the same data first."""


class EngineVersionError(EngineError):
    """An index made by another version of nwx."""


class EngineFullError(EngineError):
    """No space left to write."""


class NotBuiltError(EngineError):
    """An index that was never built, such as the index of links."""


class QuestionTimeoutError(EngineError):
    """A query that was stopped: it exceeded its time limit, or the client went away."""


class BlobError(EngineError):
    """A stored blob that is missing or damaged."""


class StaleMarkError(EngineError):
    """A mark that an archive's captures do not recognize, for example after they were rebuilt."""


class WindowError(EngineError, UsageError):
    """A page beyond the last that can be requested."""


def _value(value: object) -> str | int | float | ErrorText:
    """Return a value in a form that can be pickled between processes."""
    if isinstance(value, NwxError):
        return value.text
    if isinstance(value, (ErrorText, int, float)):
        return value
    return str(system_reason(value) if isinstance(value, OSError) else value)


def system_reason(error: BaseException) -> object:
    """Return what the system says about an OSError, without number and path; others unchanged.

    Libraries for HTTP wrap such errors several times: the first of them has the words.
    """
    if not isinstance(error, OSError):
        return error
    first: OSError = error
    cause: BaseException | None = error
    while cause is not None and not first.strerror:
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if isinstance(cause, OSError):
            first = cause
    if isinstance(first, FileNotFoundError) and not first.strerror:
        return "No such file or directory"  # the error of fsspec has only the address
    return first.strerror or str(first) or error


def _english(value: str | float | ErrorText) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
