"""Output folders of jobs: local, or on any file system that fsspec supports.

A file appears under its name only when complete: by a rename, or by one upload where the file
system has no rename (S3).
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from nwx.bulk.addresses import is_address
from nwx.bulk.whole_files import unfinished_path, whole_file
from nwx.errors import JobError, SourceError

_HADOOP_NAMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "abfss": "abfs"}
_OBJECT_STORES = frozenset(("s3", "gs", "gcs", "abfs", "az", "oci", "oss"))
_READ_AT_ONCE = 500
_FAILURES = (OSError, ValueError, RuntimeError, ImportError)


def fsspec_address(address: str) -> str:
    """Return an address as fsspec spells it: `s3://…` for Hadoop's `s3a://…`."""
    scheme, colon, rest = address.partition("://")
    return f"{_HADOOP_NAMES.get(scheme, scheme)}{colon}{rest}"


def absolute_place(place: str) -> str:
    """Return a path or an address as it is found from any folder, links kept as they are."""
    return fsspec_address(place) if is_address(place) else os.path.abspath(place)  # noqa: PTH100


@dataclass(frozen=True, slots=True)
class JobFolder:
    """A folder at `place`, a path or an address; file names are relative, with `/`.

    Each method raises SourceError if the file system fails, JobError if a file cannot be written.
    """

    place: str

    def path(self, name: str = "") -> str:
        """Return the path or address of a file."""
        return f"{self.place.rstrip('/')}/{name}" if name else self.place

    def inner(self, name: str) -> "JobFolder":
        """Return a folder inside this one."""
        return JobFolder(self.path(name))

    def exists(self, name: str = "") -> bool:
        """Return whether a file or folder is there."""
        with self._failing("looked up", name):
            system, path = self._found(name)
            return bool(system.exists(path))

    def is_empty(self) -> bool:
        """Return whether the folder is empty or missing."""
        with self._failing("looked up", ""):
            system, path = self._found("")
            return not system.exists(path) or (system.isdir(path) and not system.ls(path, False))

    def names(self, inner: str = "") -> list[str]:
        """Return the names of all files below a folder inside, sorted; none where it is missing."""
        with self._failing("listed", inner):
            system, root = self._found("")
            _, path = self._found(inner)
            start = len(root.rstrip("/")) + 1
            return sorted(each[start:] for each in system.find(path) if each != root)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self._failing("read", name):
            system, path = self._found(name)
            return bytes(system.cat_file(path))

    def read_all(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield the contents of files, in the order of their names; many at a time where far."""
        for start in range(0, len(names), _READ_AT_ONCE):
            some = names[start : start + _READ_AT_ONCE]
            with self._failing("read", ""):
                paths = [self._found(name)[1] for name in some]
                found = self._found("")[0].cat(paths)
                contents = [bytes(found[path]) for path in paths]
            yield from contents

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which replaces one of its name."""
        with self.new_file(name) as stream:
            stream.write(content)

    @contextmanager
    def new_file(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a stream that becomes a file at the end; no file is left after an error.

        A SourceError raised inside, by reading the source, is not changed to JobError.
        """
        raised: SourceError | None = None
        try:
            with self._unfinished(name) as stream:
                try:
                    yield stream
                except SourceError as error:
                    raised = error
                    raise
        except SourceError as error:
            if error is raised:
                raise
            raise JobError(str(error)) from error

    @contextmanager
    def _unfinished(self, name: str) -> Iterator[IO[bytes]]:
        if not is_address(self.place):
            with self._failing("written", name):
                path = Path(self.path(name))
                path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as stream:
                yield stream
            return
        with TemporaryFile() as spooled:
            yield spooled
            spooled.seek(0)
            with self._failing("written", name):
                self._upload(spooled, name)

    def delete(self, name: str = "") -> None:
        """Delete a file, or a folder with all below it, if it is there."""
        with self._failing("deleted", name):
            system, path = self._found(name)
            if system.exists(path):
                system.rm(path, recursive=True)

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file; one that has the name already is replaced."""
        with self._failing("renamed", name):
            system, path = self._found(name)
            if is_address(self.place):
                _replace(system, path, self._found(new_name)[1])
            else:
                target = Path(self.path(new_name))
                target.parent.mkdir(parents=True, exist_ok=True)
                Path(self.path(name)).replace(target)

    def _upload(self, spooled: IO[bytes], name: str) -> None:
        system, path = self._found(name)
        first = path if _is_object_store(system) else str(unfinished_path(Path(path)))
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        with system.open(first, "wb") as stream:
            shutil.copyfileobj(spooled, stream, 1 << 20)
        if first != path:
            _replace(system, first, path)

    def _found(self, name: str) -> tuple[Any, str]:
        """Return the file system of fsspec, and the path of a file on it."""
        import fsspec

        place = fsspec_address(self.path(name))
        system, path = fsspec.core.url_to_fs(place)
        system.invalidate_cache()
        return system, cast(str, path)

    @contextmanager
    def _failing(self, what: str, name: str) -> Iterator[None]:
        """Turn failures of file systems into errors that name the file."""
        try:
            yield
        except _FAILURES as error:
            reason = getattr(error, "strerror", None) or error
            raise SourceError(f"{self.path(name)} cannot be {what}: {reason}") from error


def _replace(system: Any, path: str, target: str) -> None:
    """Rename a file; many file systems refuse a name that is taken."""
    if system.exists(target):
        system.rm(target)
    system.mv(path, target)


def _is_object_store(system: Any) -> bool:
    """Return whether files of a file system appear when they are uploaded, and not before."""
    names = system.protocol if isinstance(system.protocol, tuple | list) else (system.protocol,)
    return not _OBJECT_STORES.isdisjoint(names)
