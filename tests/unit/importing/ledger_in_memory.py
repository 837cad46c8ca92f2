"""A ledger of claims without a server."""

from collections.abc import Collection

from nwx.engine.capabilities import ClaimChange, ClaimedFile, FileClaims
from nwx.errors import EngineUnavailableError


class LedgerInMemory(FileClaims):
    """A ledger shared by several importers; with `away` it fails."""

    def __init__(self) -> None:
        self.rows: dict[str, ClaimedFile] = {}
        self.away = False

    def read(self, collection: str, names: Collection[str]) -> dict[str, ClaimedFile]:
        if self.away:
            raise EngineUnavailableError("away")
        return {name: self.rows.get(name, ClaimedFile(collection, name)) for name in names}

    def update(
        self, collection: str, names: Collection[str], change: ClaimChange
    ) -> dict[str, ClaimedFile]:
        rows = self.read(collection, names)
        for name, row in rows.items():
            new = change(row)
            if new is not None:
                self.rows[name] = rows[name] = new
        return rows

    def held(self) -> list[ClaimedFile]:
        return [row for row in self.rows.values() if row.claim and not row.claim.ended]
