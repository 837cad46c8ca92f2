"""Where the captures are that a viewer may not see, for whoever counts captures in columns."""

import threading
from array import array
from collections import defaultdict
from collections.abc import Mapping

from nwx.engine.access.decisions import Decisions
from nwx.engine.facet_store import FacetStore


class HiddenPlaces:
    """The places of hidden captures; eight bytes are kept of each. Threads may share it."""

    def __init__(self, store: FacetStore, decisions: Decisions) -> None:
        self._store = store
        self._decisions = decisions
        self._guard = threading.Lock()
        self._stamp = ""
        self._found: Mapping[str, array[int]] = {}

    def current(self) -> Mapping[str, "array[int]"]:
        """Return the offsets of hidden captures by `<collection>/<file name>`, in no order.

        All captures are read for it once after each change of theirs.
        """
        with self._guard:
            stamp = self._store.stamp()
            if stamp != self._stamp:
                self._found = self._read()
                self._stamp = stamp
            return self._found

    def _read(self) -> Mapping[str, "array[int]"]:
        hides = self._decisions.hides_values
        found: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        for some in self._store.capture_rows():
            for row in some.rows:
                collection, source_file = row[11], row[12]
                if hides(row[10], row[1], row[2] or "", collection, source_file, row[0]):
                    found[f"{collection}/{source_file}"].append(row[13])
        return dict(found)
