"""The files of an archive, with those that importers have now."""

from typing import Any, NamedTuple

from nwx.engine.base import Engine
from nwx.engine.ledger import Claim
from nwx.model import UNREADABLE, SourceFile


class ImportedFile(NamedTuple):
    """A file, and the claim of the importer that has it now."""

    file: SourceFile
    claim: Claim | None

    @property
    def state(self) -> str:
        """How far it is, in words."""
        file = self.file
        if self.claim and not file.finished:
            host, pid = (*self.claim.holder.split("/"), "")[:2]
            return f"at {file.done_to}, importing on {host} (process {pid})"
        if file.counts.get(UNREADABLE):
            return "unreadable"
        return "done" if file.finished else f"stopped at {file.done_to}"


def imported_files(engine: Engine) -> list[ImportedFile]:
    """Return the files of the ledger, and those of which nothing was imported yet."""
    shared = engine.claims()
    # An entry of no collection is no file: an import that must be alone.
    held = [one for one in shared.held() if one.collection] if shared else []
    files: dict[tuple[Any, ...], SourceFile] = {
        (one.collection, one.name): SourceFile(one.collection, one.name, "", None, "")
        for one in held
    }
    files |= {(file.collection, file.name): file for file in engine.files()}
    claims = {(one.collection, one.name): one.claim for one in held}
    return [ImportedFile(files[key], claims.get(key)) for key in sorted(files)]
