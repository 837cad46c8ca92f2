"""The statistics of terms for a run that may last longer than the archive stays as it was."""

import time

from nwx.engine.base import Engine
from nwx.errors import EngineBusyError, EngineUnavailableError
from nwx.model import IndexName
from nwx.steering.analysis.term_statistics import TermStatistics, term_statistics
from nwx.steering.specifications.specification import CrawlSpecification

_LOOK_SECONDS = 30.0
_GROWTH, _FEW_DOCUMENTS = 4, 100


class CurrentStatistics:
    """The statistics of the terms of a specification, `terms`, as they were read last.

    They are read anew when the archive has several times as many documents,
    which is looked at now and then: an archive may be empty at first.
    """

    def __init__(self, engine: Engine, specification: CrawlSpecification) -> None:
        self._engine, self._specification = engine, specification
        self._next = time.monotonic() + _LOOK_SECONDS
        self._documents = engine.count(IndexName.DOCUMENTS)
        self.terms: TermStatistics = term_statistics(engine, specification)

    def renew(self) -> bool:
        """Read the statistics anew where it is time to; return whether they were."""
        if time.monotonic() < self._next:
            return False
        try:
            documents = self._engine.count(IndexName.DOCUMENTS)
            if documents <= _GROWTH * (self._documents + _FEW_DOCUMENTS):
                return False
            self.terms = term_statistics(self._engine, self._specification)
        except (EngineBusyError, EngineUnavailableError):
            return False  # another time
        finally:
            self._next = time.monotonic() + _LOOK_SECONDS
        self._documents = documents
        return True
