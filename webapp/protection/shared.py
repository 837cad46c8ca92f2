"""What the processes of a service share for its protection, and how each opens it."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from flask import Flask

from nwx import Archive
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import writing
from nwx.settings import ProtectionSettings
from webapp.protection.client_limits import ClientLimits, TokenBuckets, limit_clients
from webapp.protection.metrics import show_metrics
from webapp.protection.request_counts import RequestCounts, RequestLog


@dataclass(frozen=True, slots=True)
class SharedProtection:
    """The files that the processes of a service share, in a folder; without limits no buckets."""

    options: ProtectionSettings
    folder: str

    @classmethod
    def create(cls, stack: ExitStack, options: ProtectionSettings, processes: int) -> Self:
        """Make the files for so many processes; they are deleted with `stack`."""
        shared = cls(options, str(stack.enter_context(temporary_folder())))
        # Processes that end stay for a while beside those that take their place.
        with writing(Path(shared.folder)):
            RequestCounts.create(shared._counts, 3 * processes)
            if options.rate:
                TokenBuckets.create(shared._buckets)
        return shared

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """Return what `asdict` made a dictionary of."""
        return cls(ProtectionSettings(**told["options"]), told["folder"])

    def counts(self, stack: ExitStack) -> RequestCounts:
        """Return the counts of requests; closed with `stack`."""
        log = RequestLog(self.options.request_log) if self.options.request_log else None
        if log is not None:
            stack.callback(log.close)
        counts = RequestCounts(self._counts, log)
        stack.callback(counts.close)
        return counts

    def limits(self, stack: ExitStack, tokens: Iterable[str] = ()) -> ClientLimits | None:
        """Return the limits of clients, None where there are none; closed with `stack`."""
        if not self.options.rate:
            return None
        buckets = TokenBuckets(self._buckets)
        stack.callback(buckets.close)
        return ClientLimits(self.options.rate, buckets, tuple(filter(None, tokens)))

    def protect(
        self,
        app: Flask,
        stack: ExitStack,
        archive: Archive | None,
        tokens: Iterable[str] = (),
        *,
        is_public: bool = False,
    ) -> RequestCounts:
        """Limit the clients of an application, and show its metrics; return what counts them."""
        counts = self.counts(stack)
        limit_clients(app, self.limits(stack, tokens))
        show_metrics(app, archive, counts, self.options.metrics_token, is_public=is_public)
        return counts

    @property
    def _counts(self) -> Path:
        return Path(self.folder) / "counts"

    @property
    def _buckets(self) -> Path:
        return Path(self.folder) / "buckets"
