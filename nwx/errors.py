"""Every error that nwx raises on purpose.

NwxError
├── UsageError                 a wrong option, value or combination (exit code 2)
│   ├── SettingsError          a wrong value in the environment or a configuration file
│   ├── QueryError             a query that cannot be parsed; knows the place
│   ├── SpecificationError     a text that is no crawl specification; knows all that is wrong
│   ├── CdxQueryError          a parameter of the CDX server that makes no sense
│   └── ProtocolError          a request to a crawler's queue that makes no sense; knows the item
├── FormatError                bytes that do not follow their format; knows file and offset
│   ├── TimestampError
│   ├── DigestError
│   ├── UrlError
│   └── CdxError               a CDX or CDXJ line; knows file and line
├── SourceError                a file, folder or address that cannot be opened or read
│   ├── SourceConflictError    another file of the same name is already in the archive
│   └── CaptureIndexError      a served index of captures that cannot be read; names no paths
├── WithheldError              what cannot be shown without showing what rules hide
├── CrawlerError               a crawler's queue that refuses what it is sent; knows the item
│   └── CrawlerUnavailableError it is away, or busy: the same can be sent later
├── JobError                   work on Spark that cannot start, or fails on a machine
└── EngineError                an engine that cannot do what was asked
    ├── EngineUnavailableError it is away, or does not answer in time
    │   └── PartialAnswerError some of its shards do not answer
    ├── EngineBusyError        another writer holds it
    ├── EngineConflictError    what was to be replaced was replaced by somebody else
    ├── EngineVersionError     its index was made by another version of nwx
    ├── EngineFullError        no space left to write
    ├── QuestionTimeoutError   an answer that takes longer than a question may
    ├── BlobError              a stored blob is missing or damaged
    ├── StaleMarkError         a mark of captures that the archive did not give
    └── WindowError            a page beyond the last that can be asked for

A message is lower case: what was found, where, what to do. Where it can reach
a page it is an ErrorText, which pages show in the language of their reader.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self


class ErrorText:
    """The English text of an error, and what is needed to say it in another language.

    `template` is the text with gettext's placeholders, `%(name)s`, and
    `values` what stands in them; without values, a `%` is a `%`. It is written
    as a literal where it is made, so that `make messages` finds it. Counts are
    given as numbers: they are written in groups of thousands as the language
    does. Errors are given as they are, and are translated too; of anything
    else its text is taken.
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
        """Return the text as an object of JSON, which `from_json` reads again."""
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

    `text` is what it says; `str` gives that in English.
    """

    def __init__(self, text: str | ErrorText) -> None:
        self.text = text if isinstance(text, ErrorText) else ErrorText(text)
        super().__init__(str(text))


class UsageError(NwxError):
    """A wrong option, value or combination of them."""


class SettingsError(UsageError):
    """A wrong value in the environment or in a configuration file."""


class QueryError(UsageError):
    """A query that cannot be parsed or compiled.

    `position` is the offset in characters from the start of `query`, or
    None where no single place is to blame.
    """

    def __init__(
        self, message: str | ErrorText, query: str = "", position: int | None = None
    ) -> None:
        super().__init__(message)
        self.query = query
        self.position = position


class SpecificationError(UsageError):
    """A text that is no crawl specification; `problems` has all that is wrong with it."""

    def __init__(self, file: str, problems: Sequence[Any]) -> None:
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))
        self.file = file
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type, tuple[str, Sequence[Any]]]:
        return type(self), (self.file, self.problems)


class CdxQueryError(UsageError):
    """A parameter of the CDX server that makes no sense."""


class ProtocolError(UsageError):
    """A request to a crawler's queue that makes no sense.

    `item` is the place of the item that is wrong, from 0, or None where no
    single one is.
    """

    def __init__(self, message: str | ErrorText, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


class FormatError(NwxError):
    """Bytes that do not follow their format.

    `file` is a file name, `offset` bytes from its start; both may be unknown.
    """

    def __init__(
        self, message: str | ErrorText, file: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.offset = offset


class TimestampError(FormatError):
    """Text that is no CDX timestamp or WARC date."""


class DigestError(FormatError):
    """Text that is no digest, or a digest that does not fit its bytes."""


class UrlError(FormatError):
    """Text that cannot stand as a URL."""


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
    """An index of captures that is served and cannot be read; its message names no paths."""


class WithheldError(NwxError):
    """An answer that cannot be given without what access rules hide from whoever asks."""


class CrawlerError(NwxError):
    """A crawler's queue that refuses what it is sent.

    `item` is the place of the item that it refuses, from 0, or None where it
    names none.
    """

    def __init__(self, message: str | ErrorText, item: int | None = None) -> None:
        super().__init__(message)
        self.item = item


class CrawlerUnavailableError(CrawlerError):
    """A crawler's queue that is away or busy; `retry_seconds` after which it asks to come back."""

    def __init__(self, message: str | ErrorText, retry_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class JobError(NwxError):
    """Work on Spark that cannot start, or that fails on a machine."""


class EngineError(NwxError):
    """An engine that cannot do what was asked."""


class EngineUnavailableError(EngineError):
    """An engine that is away or does not answer in time."""


class PartialAnswerError(EngineUnavailableError):
    """An engine of which a part is away: what the rest answers is less than the whole."""


class EngineBusyError(EngineError):
    """An engine that another writer holds."""


class EngineConflictError(EngineError):
    """Somebody else replaced what was to be replaced."""


class EngineVersionError(EngineError):
    """An index made by another version of nwx."""


class EngineFullError(EngineError):
    """No space left to write."""


class QuestionTimeoutError(EngineError):
    """A question that was stopped: its answer takes longer than allowed, or nobody waits for it."""


class BlobError(EngineError):
    """A stored blob that is missing or damaged."""


class StaleMarkError(EngineError):
    """A mark that the captures of an archive do not know, as where they were made anew since."""


class WindowError(EngineError, UsageError):
    """A page beyond the last that can be asked for."""


def _value(value: object) -> str | int | float | ErrorText:
    """Return a value as it is kept: errors cross processes, and with them what they say."""
    if isinstance(value, NwxError):
        return value.text
    if isinstance(value, (ErrorText, int, float)):
        return value
    return str(value)


def _english(value: str | float | ErrorText) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
