"""Embedders of texts: a static model in a package, a command, or an HTTP service.

Each runs in a child process, so that this process loads no model and never waits endlessly.
"""

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nwx.bulk.child_processes import Death, KeptProcess, requests
from nwx.engine.document_index import current_work
from nwx.errors import ErrorText, SourceError, UsageError, system_reason

_Floats = npt.NDArray[np.float32]
MOST_DIMENSIONS = 4_096
_SECONDS = 120.0
_AT_ONCE = 256
_ADDRESS = ("http://", "https://")
_KEY = "NWX_EMBEDDER_KEY"
_FAILURES = (OSError, ValueError, KeyError, TypeError, IndexError)
"""Errors that a failing command or service may cause."""


class Embedder:
    """Embeds texts as vectors; `setting` is "", a command, or an address with #MODEL.

    `dimensions` apply to the packaged model: the first of its 256 (Matryoshka), or all.
    """

    def __init__(self, setting: str, dimensions: int) -> None:
        self.setting, self._dimensions = setting, dimensions
        if not setting and find_spec("wordllama") is None:
            raise UsageError.translated(
                "vectors need packages that are not installed; run pip install 'nwx[vectors]'"
            )
        self._process = KeptProcess(serve_embedder)
        self._guard = threading.Lock()

    def embed(self, texts: Sequence[str]) -> _Floats:
        """Return a vector for each text; raises SourceError if the embedder fails."""
        starts = range(0, len(texts), _AT_ONCE)
        return np.concatenate([self._some(texts[start : start + _AT_ONCE]) for start in starts])

    def _some(self, texts: Sequence[str]) -> _Floats:
        asked = {"setting": self.setting, "dimensions": self._dimensions, "texts": texts}
        task = json.dumps(asked).encode()
        left = current_work().remaining_seconds()
        with self._guard:  # another process would load the model again
            answer = self._process.ask(task, seconds=_SECONDS if left is None else left)
        if isinstance(answer, Death):
            raise self._error(answer.cause(_SECONDS))
        if answer[:1] == _FAILED:
            raise self._error(answer[1:].decode())
        vectors = np.frombuffer(answer[1:], dtype=np.float32).reshape(len(texts), -1)
        if not 1 <= vectors.shape[1] <= MOST_DIMENSIONS:
            raise self._error(f"made vectors of {vectors.shape[1]:,} numbers")
        return vectors

    def _error(self, reason: str) -> SourceError:
        return SourceError.translated(
            "%(embedder)s computes no vectors: %(reason)s",
            embedder=embedder_name(self.setting),
            reason=reason,
        )

    def close(self) -> None:
        """End the child process."""
        self._process.close()


def embedder_name(setting: str) -> str | ErrorText:
    """Return the name of an embedder in messages."""
    return repr(setting) if setting else ErrorText("the model of nwx[vectors]")


_MADE, _FAILED = b"+", b"-"
_Embed = Callable[[list[str]], Any]


def serve_embedder(connection: "Connection[Any, Any]") -> None:
    """Answer requests with the vectors of texts, or with an error."""
    embed: _Embed | None = None
    for message in requests(connection):
        task = json.loads(message)
        try:
            embed = embed or _opened(task["setting"], task["dimensions"])
            vectors = np.asarray(embed(task["texts"]), dtype=np.float32)
            if vectors.ndim != 2 or len(vectors) != len(task["texts"]):
                raise ValueError("not every text got a vector")
            if not np.isfinite(vectors).all():
                raise ValueError("vectors contain values that are not numbers")
            answer = _MADE + vectors.tobytes()
        except _FAILURES as error:
            lacking = "an answer has no " if isinstance(error, KeyError) else ""
            words = f"{lacking}{system_reason(error)}"
            answer = _FAILED + words[:300].encode("utf-8", "replace")
        connection.send_bytes(answer)


def _opened(setting: str, dimensions: int) -> _Embed:
    if not setting:
        return _static_model(dimensions)
    return _service(setting) if setting.startswith(_ADDRESS) else _command(setting)


def _static_model(dimensions: int) -> _Embed:
    import wordllama

    # The package has its model next to its code; with another folder it would try to download it.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, trunc_dim=dimensions, disable_download=True)
    model.tokenizer.no_padding()

    def embed(texts: list[str]) -> Any:
        """Return the normalized mean of token vectors, as `model.embed`, but without padding."""
        tokens = [[0, *one.ids] for one in model.tokenize(texts)]
        starts = np.cumsum([0, *map(len, tokens[:-1])])
        rows = model.embedding[np.concatenate(tokens)]
        rows[starts] = 0  # a text may have no tokens
        sums = np.add.reduceat(rows, starts)
        return sums / np.sqrt(np.maximum((sums * sums).sum(axis=1, keepdims=True), 1e-12))

    return embed


def _command(setting: str) -> _Embed:
    """Return a function that writes {"texts": …} lines to a command, and reads {"vectors": …}."""
    process = subprocess.Popen(shlex.split(setting), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def embed(texts: list[str]) -> Any:
        assert process.stdin and process.stdout
        with suppress(BrokenPipeError):  # it may have ended after its last answer
            process.stdin.write(json.dumps({"texts": texts}).encode() + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise ValueError(f"the command ended with exit code {process.wait()}")
        return json.loads(line)["vectors"]

    return embed


def _service(setting: str) -> _Embed:
    """Return a function that calls a service with OpenAI's embeddings interface."""
    from requests import Session

    address, _, model = setting.partition("#")
    session = Session()
    if key := os.environ.get(_KEY):
        session.headers["Authorization"] = f"Bearer {key}"

    def embed(texts: list[str]) -> Any:
        asked = {"input": texts, "model": model, "encoding_format": "float"}
        answer = session.post(address, json=asked, timeout=_SECONDS)
        answer.raise_for_status()
        listed = sorted(answer.json()["data"], key=lambda one: one["index"])
        return [one["embedding"] for one in listed]

    return embed
