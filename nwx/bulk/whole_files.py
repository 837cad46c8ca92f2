"""Files that appear whole or not at all, and what is said where they cannot be written."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from nwx.bulk.whole_files import hold, remove_leftovers, unfinished_path
from nwx.errors import ErrorText, SourceError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes the file `path` in the end, by a rename.

    When something fails inside, what was at `path` stays as it was. What
    processes that were killed left in that folder goes. What
    is no regular file (`/dev/stdout`, a named pipe) is written directly.
    Raises SourceError where it cannot be written.
    """
    try:
        direct = path.exists() and not path.is_file()
    except OSError as error:
        raise _unwritable(path, error) from error
    unfinished = path if direct else unfinished_path(path)
    if not direct:
        remove_leftovers(path.parent)
    try:
        with unfinished.open("wb") as stream:
            if not direct:
                hold(stream.fileno())
            yield stream
        if not direct:
            unfinished.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if not direct:
            unfinished.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Give a new folder that becomes `path` in the end, by a rename, and goes when anything fails.

    What processes that were killed left beside it goes too. Raises
    SourceError where `path` is there already, unless it is an empty folder,
    and where it cannot be written.
    """
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise SourceError(ErrorText("%(path)s is there already; name a new folder", path=path))
        remove_leftovers(path.parent)
        new = unfinished_path(path)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        descriptor = os.open(new, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        hold(descriptor)
        yield new
        new.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        os.close(descriptor)
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError inside, such as that of a full disk, into a SourceError about `path`."""
    try:
        yield
    except OSError as error:
        raise SourceError(
            ErrorText(
                "%(path)s cannot be written: %(reason)s; make room, or name another folder "
                "for temporary files",
                path=path,
                reason=error.strerror or error,
            )
        ) from error


def done_once(report: Path, work: Callable[[], Any]) -> Any:
    """Return what `work` returns, JSON values, or what an earlier call of it did.

    `report` is written when the work is done: a step that was killed on the
    way is done again from its start, one that came to its end never.
    """
    if report.exists():
        return json.loads(report.read_bytes())
    result = work()
    with whole_file(report) as stream:
        stream.write(json.dumps(result).encode())
    return result


def _unwritable(path: Path, error: OSError) -> SourceError:
    return SourceError(
        ErrorText(
            "%(path)s cannot be written: %(reason)s", path=path, reason=error.strerror or error
        )
    )
