"""External commands that extract text nwx cannot read itself: OCR, speech, old formats.

A command gets the payload on standard input and writes UTF-8 text to standard output. It runs in
its own session with limits of time, memory, output and file size, without a shell, and is killed
together with the processes it started.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from tempfile import TemporaryFile
from typing import IO

from nwx.bulk import process_limits
from nwx.bulk.child_processes import Death
from nwx.data_classes import dataclass
from nwx.errors import UsageError, system_reason
from nwx.extract.page import MIB
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract

_MOST_CHARACTERS = 2_000_000
_MOST_BYTES = 4 * _MOST_CHARACTERS
_LAST_BYTES = 2_000  # of standard error
_LONGEST_REASON = 200
_WAIT_SECONDS = 0.005
_LARGEST_FILE = 1 << 30
# Sets the limits and then executes the command: a function run between fork and exec may deadlock
# if the process has threads. The command ends with the process that waits for it.
_START = (sys.executable, "-I", "-S", process_limits.__file__)


@dataclass(frozen=True, slots=True)
class Extractor:
    """A command that extracts text from payloads of some types.

    `pattern` is a content type as served, in lower case, with `*` as wildcard (`image/*`), or,
    without a slash, a family (`image`).
    """

    pattern: str
    command: tuple[str, ...]

    def takes(self, content_type: str, content_type_norm: str) -> bool:
        """Return whether the command applies to payloads of a type and family."""
        value = content_type if "/" in self.pattern else content_type_norm
        return fnmatchcase(value, self.pattern)


def extractor_of(text: str) -> Extractor:
    """Return the extractor written as TYPE=COMMAND.

    Raises UsageError if a part is missing or the command is not installed.
    """
    pattern, equals, command = text.partition("=")
    with UsageError.instead_of(ValueError, f"extractor {text!r}"):
        words = shlex.split(command)
    if not (pattern.strip() and equals and words):
        raise UsageError(f"extractor {text!r} is not TYPE=COMMAND, as in 'image/*=tesseract - -'")
    if shutil.which(words[0]) is None:
        raise UsageError(f"extractor {text!r}: there is no command {words[0]!r}; install it")
    return Extractor(pattern.strip().lower(), tuple(words))


def extractor_for(
    extractors: Sequence[Extractor], content_type: str, content_type_norm: str
) -> Extractor | None:
    """Return the first extractor that matches a type and family, None if none does."""
    found = (each for each in extractors if each.takes(content_type, content_type_norm))
    return next(found, None)


def extract_by_command(
    extractor: Extractor, data: bytes, *, seconds: float, memory_bytes: int
) -> Extract:
    """Return the text that a command extracts; `problems` has the reason for a failure.

    `memory_bytes` limits each process of the command.
    """
    name = os.path.basename(extractor.command[0])  # noqa: PTH119 - a word of a command
    if seconds <= 0:
        return Extract(problems=(f"extractor: {name} was not run, there was no time left",))
    try:
        output, failure = _output_of(extractor, data, seconds, memory_bytes)
    except OSError as error:
        return Extract(problems=(f"extractor: {name} cannot be run: {system_reason(error)}",))
    if failure:
        return Extract(problems=(f"extractor: {name} {failure}",))
    return _text_of(output, name)


def _text_of(output: bytes, name: str) -> Extract:
    cut = len(output) > _MOST_BYTES
    text = output[:_MOST_BYTES].decode("utf-8", "replace")
    problems = []
    if "\ufffd" in text[:-1]:
        problems.append(f"extractor: {name} wrote text that is not UTF-8")
    lines = BLOCK.join(text.replace(BLOCK, "").splitlines())
    content, too_long = clean_blocks(lines, _MOST_CHARACTERS)
    if cut or too_long:
        problems.append(f"text: cut after {len(content)} characters")
    return Extract(
        content=content,
        content_language=language_of(prose(content)),
        signature=signature_of(content),
        problems=tuple(problems),
    )


def _output_of(
    extractor: Extractor, data: bytes, seconds: float, memory_bytes: int
) -> tuple[bytes, str]:
    """Return the output of a command, and the reason if it failed, as text, otherwise "".

    Raises OSError if it cannot be started.
    """
    limits = (os.getpid(), memory_bytes, int(seconds) + 2, _LARGEST_FILE)
    with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
        given.write(data)
        given.seek(0)
        until = time.monotonic() + seconds
        process = subprocess.Popen(
            [*_START, *map(str, limits), *extractor.command],
            stdin=given,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            in_time = _ends(process.pid, output, until)
        finally:
            _end(process)
        found = os.pread(output.fileno(), _MOST_BYTES + 1, 0)
        if not in_time:
            return b"", f"took longer than {seconds:.3g} s"
        if len(found) > _MOST_BYTES or process.returncode == 0:
            return found, ""
        start = max(0, os.fstat(errors.fileno()).st_size - _LAST_BYTES)
        said = os.pread(errors.fileno(), _LAST_BYTES, start)
        return b"", _failure(Death(process.returncode), said, memory_bytes)


def _failure(death: Death, said: bytes, memory_bytes: int) -> str:
    cause = f"ended by {death.how}" if death.code < 0 else death.how
    lines = said.decode("utf-8", "replace").strip().splitlines()
    reason = f": {clean_line(lines[-1])[:_LONGEST_REASON]}" if lines else ""
    return f"failed ({cause}; {memory_bytes // MIB} MiB of memory are allowed){reason}"


def _ends(pid: int, output: IO[bytes], until: float) -> bool:
    """Wait for a command; return whether it ended, or exceeded the output limit, in time."""
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT  # its process id must not be reused yet
    while os.waitid(os.P_PID, pid, how) is None:
        if os.fstat(output.fileno()).st_size > _MOST_BYTES:
            return True
        if time.monotonic() > until:
            return False
        time.sleep(_WAIT_SECONDS)
    return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and the processes it started, if any still run."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not created its session yet
        process.kill()
    process.wait()
