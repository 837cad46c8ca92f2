"""Triple stores for tests, one of them on a SPARQL server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from pyoxigraph import (
    Literal,
    NamedNode,
    QueryResultsFormat,
    QueryTriples,
    RdfFormat,
    Store,
    Triple,
)

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.triples.capture_graphs import CaptureGraph, page_graph, score_graph
from nwx.steering.triples.local_store import LocalTripleStore
from nwx.steering.triples.remote_store import RemoteTripleStore
from nwx.steering.triples.triple_store import TripleStore
from tests.unit.steering.triples.pages import view

P = NamedNode("urn:p")


def graph(name: str, *values: str) -> CaptureGraph:
    """Return a graph in the current form with some values."""
    made = page_graph(view("x", f"http://{name}/"))
    triples = (Triple(made.name, P, Literal(value)) for value in values)
    return CaptureGraph(made.name, (*made.triples, *triples))


def mentions(url: str, timestamp: str, *names: str) -> CaptureGraph:
    """Return the graph of a page that mentions persons: the first once, the second twice, …"""
    entities = tuple(Entity(name, kind=EntityKind.PERSON) for name in names)
    counts = tuple((name, count) for count, name in enumerate(names, 1))
    score = DocumentScore("crawl", "1", "d", url, timestamp, 0.5, entities=counts)
    found = score_graph(score, CrawlSpecification(name="crawl", entities=entities))
    assert found is not None
    return found


@contextmanager
def store_of(kind: str, folder: Path) -> Iterator[TripleStore]:
    """Yield an empty store in a folder, or on a server."""
    if kind == "local":
        yield LocalTripleStore(folder / "triples")
        return
    with sparql_server() as address:
        yield RemoteTripleStore(f"{address}/update", f"{address}/query")


@contextmanager
def sparql_server(failures: int = 0) -> Iterator[str]:
    """Serve an empty store by the SPARQL 1.1 protocol; the first `failures` requests fail."""
    store, left = Store(), [failures]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if left[0] > 0:
                left[0] -= 1
                self._send(503, "text/plain", b"busy")
                return
            try:
                self._answer(data)
            except (SyntaxError, OSError) as error:
                self._send(400, "text/plain", str(error).encode())

        def _answer(self, data: str) -> None:
            if self.path == "/update":
                assert self.headers["Content-Type"].startswith("application/sparql-update")
                store.update(data)
                self._send(204, "text/plain", b"")
                return
            fields = parse_qs(data)
            found = store.query(fields["query"][0], use_default_graph_as_union=True)
            if isinstance(found, QueryTriples):
                body = found.serialize(format=RdfFormat.N_TRIPLES)
                self._send(200, "application/n-triples", body or b"")
            else:
                body = found.serialize(format=QueryResultsFormat.JSON)
                self._send(200, "application/sparql-results+json", body or b"")

        def _send(self, status: int, media_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
