"""What a listener and the process behind it tell each other."""

from dataclasses import dataclass
from enum import StrEnum

from nwx.errors import NwxError
from nwx.page_places import PagePlace
from nwx.settings import Settings
from nwx.steering.running.options import SteeringOptions
from nwx.steering.running.report import SteeringReport
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.warc.sources import ArchiveSource

STOP = 1
"""The position of a pulse that tells the process to end at once."""


@dataclass(frozen=True, slots=True)
class SteeringPlan:
    """What the process needs to know."""

    settings: Settings
    specification: CrawlSpecification
    options: SteeringOptions


@dataclass(frozen=True, slots=True)
class NewPages:
    """Pages of a file that are in the archive now."""

    source: ArchiveSource
    places: tuple[PagePlace, ...]


class SteeringCommand(StrEnum):
    """What the process is told beside pages."""

    SWEEP = "sweep"  # go through the archive for pages that were left, as soon as there is time
    FINISH = "finish"  # end when everything is analysed that waits


@dataclass(frozen=True, slots=True)
class Figures:
    """How far the process is, and how many pages it has taken; `is_last` says that it ends."""

    report: SteeringReport
    taken: int
    is_last: bool = False


Order = NewPages | SteeringCommand
Told = Figures | NwxError
"""What the process tells: how far it is, or why it cannot go on."""
