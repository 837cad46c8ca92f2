"""Blobs in a folder, where a file names the current build."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.errors import BlobError, EngineBusyError, EngineError, ErrorText

CURRENT_BUILD = "current.json"


class BlobFolder(BlobStore):
    """The files of a folder as blobs, which are shared by all who can read the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def version(self) -> str:
        try:
            found = (self.folder / CURRENT_BUILD).stat()
        except FileNotFoundError:
            return ""
        return f"{found.st_ino} {found.st_mtime_ns}"

    def current(self) -> StoredBuild | None:
        path = self.folder / CURRENT_BUILD
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise BlobError(
                ErrorText("%(path)s cannot be read (%(reason)s)", path=path, reason=error)
            ) from error
        return StoredBuild.from_json(text, str(path))

    def blobs(self) -> set[str]:
        if not self.folder.is_dir():
            return set()
        found = {path.name for path in self.folder.iterdir() if path.is_file()}
        return found - {CURRENT_BUILD}

    def put(self, path: Path) -> None:
        try:
            path.replace(self.folder / path.name)
        except OSError as error:
            raise EngineError(
                ErrorText(
                    "%(folder)s cannot be written (%(reason)s)",
                    folder=self.folder,
                    reason=error.strerror,
                )
            ) from error

    def get(self, blobs: Mapping[str, int]) -> None:
        """Check that the blobs are there: the folder is the store itself."""
        for name in blobs:
            if not (self.folder / name).is_file():
                raise BlobError(ErrorText("%(folder)s is missing", folder=self.folder / name))

    def delete(self, names: Collection[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def swap(self, build: StoredBuild, version: str) -> None:
        if self.version() != version:
            raise EngineBusyError(
                ErrorText(
                    "another build was put into %(folder)s meanwhile; run the same command again",
                    folder=self.folder,
                )
            )
        write_current_build(self.folder, build)


def write_current_build(folder: Path, build: StoredBuild) -> None:
    """Make a build the current one of a folder, at once and safe on disk."""
    new = folder / f"{CURRENT_BUILD}.new"
    with new.open("w", encoding="utf-8") as opened:
        opened.write(build.to_json())
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(folder / CURRENT_BUILD)
