"""Batches on their way from the processes that read to the one that writes."""

from dataclasses import dataclass
from typing import Any

from nwx.model import SourceFile


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch of which `Engine.stage` did all that any process can do.

    `files` are its ledger entries. `content` is what the engine needs to
    complete it, cheap to pickle.
    """

    files: tuple[SourceFile, ...]
    content: Any
