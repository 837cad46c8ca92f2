"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nwx.errors import SourceError


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes the file `path` in the end, by a rename.

    When something fails inside, what was at `path` stays as it was. What
    is no regular file (`/dev/stdout`, a named pipe) is written directly.
    Raises SourceError where it cannot be written.
    """
    direct = path.exists() and not path.is_file()
    unfinished = path if direct else path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        if not direct:
            unfinished.replace(path)
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if not direct:
            unfinished.unlink(missing_ok=True)
