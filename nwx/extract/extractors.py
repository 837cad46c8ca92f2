"""Commands that extract text nwx cannot read itself: OCR, speech, old formats.

A command gets the payload on standard input and writes UTF-8 text to standard output. It runs
in its own session with limits of time, memory, output and file size, without a shell, and is
ended together with the processes it started.
"""

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import IO, cast

from nwx.bulk import process_limits
from nwx.bulk.child_processes import Death
from nwx.data_classes import dataclass
from nwx.errors import UsageError
from nwx.extract.page import MIB
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract

_STEP = 1 << 16
_MOST_CHARACTERS = 2_000_000
_MOST_BYTES = 4 * _MOST_CHARACTERS
_LAST_BYTES = 2_000  # of standard error
_LONGEST_REASON = 200
_WAIT_SECONDS = 0.2
_LARGEST_FILE = 1 << 30
# Sets the limits and becomes the command: a function run between fork and exec may
# deadlock where there are threads. The command ends with the process that waits for it.
_START = (sys.executable, "-I", "-S", process_limits.__file__)


@dataclass(frozen=True, slots=True)
class Extractor:
    """A command for payloads of some types.

    `pattern` is a type as served, in lower case, with `*` as wildcard (`image/*`), or without a
    slash a family (`image`).
    """

    pattern: str
    command: tuple[str, ...]

    def takes(self, content_type: str, content_type_norm: str) -> bool:
        """Return whether the command is for payloads of a type and family."""
        value = content_type if "/" in self.pattern else content_type_norm
        return fnmatchcase(value, self.pattern)


def extractor_of(text: str) -> Extractor:
    """Return the extractor written as TYPE=COMMAND.

    Raises UsageError if a part is missing or the command is not installed.
    """
    pattern, equals, command = text.partition("=")
    with UsageError.instead_of(ValueError, f"--extractor {text!r}"):
        words = shlex.split(command)
    if not (pattern.strip() and equals and words):
        raise UsageError(f"--extractor {text!r} is not TYPE=COMMAND, as in 'image/*=tesseract - -'")
    if shutil.which(words[0]) is None:
        raise UsageError(f"--extractor {text!r}: there is no command {words[0]!r}; install it")
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
    """Return the text that a command extracts; `problems` has the reason of a failure.

    `memory_bytes` limits each process of the command.
    """
    name = os.path.basename(extractor.command[0])  # noqa: PTH119 - a word of a command
    if seconds <= 0:
        return Extract(problems=(f"extractor: {name} was not run, there was no time left",))
    try:
        run = _Run(extractor, seconds, memory_bytes)
    except OSError as error:
        return Extract(problems=(f"extractor: {name} cannot be run: {error}",))
    output, failure = run.finish(data)
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


class _Run:
    """A running command."""

    def __init__(self, extractor: Extractor, seconds: float, memory_bytes: int) -> None:
        self._seconds, self._memory = seconds, memory_bytes
        self._until = time.monotonic() + seconds
        limits = (os.getpid(), memory_bytes, int(seconds) + 2, _LARGEST_FILE)
        self._process = subprocess.Popen(
            [*_START, *map(str, limits), *extractor.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._output, self._errors = bytearray(), bytearray()

    def finish(self, data: bytes) -> tuple[bytes, str]:
        """Return the output, and in words why it is not to be used, "" if it is."""
        late = False
        try:
            late = not self._exchange(memoryview(data))
            ended = late or self._wait()
        finally:
            self._end()
        if late or not ended:
            return b"", f"took longer than {self._seconds:.3g} s"
        if len(self._output) > _MOST_BYTES or self._process.returncode == 0:
            return bytes(self._output), ""
        return b"", self._failure()

    def _failure(self) -> str:
        death = Death(self._process.returncode)
        cause = f"ended by {death.how}" if death.code < 0 else death.how
        said = self._errors.decode("utf-8", "replace").strip().splitlines()
        reason = f": {clean_line(said[-1])[:_LONGEST_REASON]}" if said else ""
        return f"failed ({cause}; {self._memory // MIB} MiB of memory are allowed){reason}"

    def _exchange(self, data: memoryview) -> bool:
        """Write the payload and read what comes; return False where the time is over."""
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        stdin, stdout, stderr = (cast("IO[bytes]", stream) for stream in streams)
        for stream in (stdin, stdout, stderr):
            os.set_blocking(stream.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            selector.register(stdout, selectors.EVENT_READ, self._output)
            selector.register(stderr, selectors.EVENT_READ, self._errors)
            while stdout in selector.get_map() or stderr in selector.get_map():
                if time.monotonic() > self._until:
                    return False
                if len(self._output) > _MOST_BYTES:
                    return True
                ready = selector.select(_WAIT_SECONDS)
                if not ready and self._has_ended():
                    return True  # what it left running holds its streams
                for key, _ in ready:
                    stream = cast("IO[bytes]", key.fileobj)
                    if key.data is None:
                        data = self._written(selector, stream, data)
                    elif not _read(stream, key.data):
                        selector.unregister(stream)
                del self._errors[:-_LAST_BYTES]
        return True

    def _written(
        self, selector: selectors.BaseSelector, stream: IO[bytes], data: memoryview
    ) -> memoryview:
        """Write as much as the command takes; return the rest."""
        try:
            data = data[os.write(stream.fileno(), data[:_STEP]) :] if data else data
        except BrokenPipeError:
            data = data[:0]  # it may have read enough
        if not data:
            selector.unregister(stream)
            stream.close()
        return data

    def _has_ended(self) -> bool:
        """Return whether the command has ended, which leaves its number its own."""
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, how) is not None

    def _wait(self) -> bool:
        """Return whether the command ends in time, once it has closed its streams."""
        while not self._has_ended() and len(self._output) <= _MOST_BYTES:
            if time.monotonic() > self._until:
                return False
            time.sleep(0.005)
        return True

    def _end(self) -> None:
        """End the command and its processes if any still run."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not come as far as its own session
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


def _read(stream: IO[bytes], into: bytearray) -> bool:
    """Read the available bytes into `into`; return False at the end of the stream."""
    data = os.read(stream.fileno(), _STEP)
    into += data
    return bool(data)
