"""Embedders: the packaged model without a network, commands, services."""

import json
import shlex
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pytest

from nwx.errors import SourceError
from nwx.searching.embedders import Embedder
from tests import embedder as made_embedder

COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(made_embedder.__file__)}"
DIMENSIONS = 64


def test_the_packaged_model_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model = Embedder("", DIMENSIONS)
    texts = ["The cat sat on the mat", "A kitten rested on a rug", "Interest rates rose", ""]
    found = model.embed(texts * 100)
    model.close()
    assert found.shape == (400, DIMENSIONS) and np.isfinite(found).all()
    cat, kitten, rates, nothing = found[:4]
    assert cat @ kitten > cat @ rates + 0.2 and not nothing.any()


def test_commands_read_and_write_lines() -> None:
    command = Embedder(COMMAND, DIMENSIONS)
    found = command.embed(["car word", "zwölf"])
    command.close()
    expected = [made_embedder.vector("car word"), made_embedder.vector("zwölf")]
    assert np.allclose(found, np.array(expected))


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (f"{COMMAND} fail", "exit code 3"),
        ("false", "vectors: the command ended with exit code 1"),
        ("no-such-program", "no-such-program' computes no vectors: No such file"),
        ("cat", "vectors: an answer has no 'vectors'"),
        (f"{sys.executable} -c \"input(); print('[1]')\"", "no vectors"),
        (f'{sys.executable} -c "input(); print(\'{{\\"vectors\\": [[NaN]]}}\')"', "numbers"),
        (f'{sys.executable} -c "input(); print(\'{{\\"vectors\\": []}}\')"', "every text"),
        ("http://127.0.0.1:9/v1/embeddings#m", "Connection refused"),
    ],
)
def test_what_fails_is_an_error(setting: str, reason: str) -> None:
    failing = Embedder(setting, DIMENSIONS)
    with pytest.raises(SourceError, match=reason):
        failing.embed(["a" * 100_000])
    failing.close()


class _Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = asked["input"]
        data = [{"index": n, "embedding": [len(text), 1]} for n, text in enumerate(texts)]
        body = json.dumps({"data": data[::-1], "model": asked["model"]}).encode()
        is_known = self.headers["authorization"] == "Bearer key" and asked["model"] == "m"
        self.send_response(200 if is_known else 401)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Service) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1/embeddings"
        server.shutdown()
        thread.join()


def test_services_are_asked_as_openai_is(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NWX_EMBEDDER_KEY", "key")
    asked = Embedder(f"{service}#m", DIMENSIONS)
    assert asked.embed(["a", "bbb"]).tolist() == [[1, 1], [3, 1]]
    asked.close()
    refused = Embedder(f"{service}#other", DIMENSIONS)
    with pytest.raises(SourceError, match="401"):
        refused.embed(["a"])
    refused.close()
