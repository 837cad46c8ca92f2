"""Builds of facets on the server: their files, and the combinations for everybody to search."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nwx.engine.cube import MANIFEST, Build, write_manifest
from nwx.engine.elastic.bulk import Action, send
from nwx.engine.elastic.pages import entries_by_id
from nwx.engine.elastic.schema import index_body
from nwx.engine.elastic.server import Body, Server, StatusError, quoted
from nwx.errors import EngineBusyError, EngineError
from nwx.model import IndexName
from nwx.settings import ElasticSettings

_PIECE_BYTES = 4 << 20
_NUMBERS = 6


class CubeStore:
    """The index facets, and beside it one with the files of the build that it is from."""

    def __init__(self, server: Server, facets: str, settings: ElasticSettings) -> None:
        self._server = server
        self._facets = facets
        self._files = f"{facets}-files"
        self._settings = settings

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest of the build on the server, None where there is none."""
        found = self._manifest_entry("true")
        if found is None:
            return None
        manifest: dict[str, Any] = json.loads(found["_source"]["data"])
        return manifest

    def version(self) -> str:
        """Return a text that is another one whenever there is another build."""
        found = self._manifest_entry("false")
        return f"{found['_primary_term']} {found['_seq_no']}" if found else ""

    def _manifest_entry(self, source: str) -> Body | None:
        try:
            return entries_by_id(self._server, self._files, [MANIFEST], source).get(MANIFEST)
        except EngineError as error:
            if "no such index" in str(error):
                return None
            raise

    def missing(self, folder: Path, manifest: dict[str, Any]) -> int:
        """Return how many bytes of a build are not in a folder."""
        files: dict[str, int] = manifest["files"]
        return sum(size for name, size in files.items() if not (folder / name).exists())

    def fetch(self, folder: Path, manifest: dict[str, Any]) -> None:
        """Bring a build into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, size in manifest["files"].items():
            if not (folder / name).exists():
                self._fetch_file(folder / name, size)
        write_manifest(folder, manifest)
        for path in (*folder.glob("*.arrays"), *folder.glob("labels-*.json")):
            if path.name not in manifest["files"]:
                path.unlink(missing_ok=True)

    def _fetch_file(self, path: Path, size: int) -> None:
        new = path.with_suffix(".fetched")
        with new.open("wb") as file:
            for number in range(_pieces(size)):
                id = f"{path.name}#{number}"
                found = entries_by_id(self._server, self._files, [id], "true")
                if id not in found:
                    raise EngineError(
                        f"{self._files} at {self._server.address} lacks {id};"
                        " run `nwx build-facets --anew`"
                    )
                file.write(base64.b64decode(found[id]["_source"]["data"]))
        new.rename(path)

    def publish(self, build: Build) -> None:
        """Put a build in the place of the one on the server, at once."""
        self._make_files_index()
        before = entries_by_id(self._server, self._files, [MANIFEST], "true").get(MANIFEST)
        known = json.loads(before["_source"]["data"])["files"] if before else {}
        send(self._server, self._pieces_of(build, [n for n in build.files if n not in known]))
        index = self._fill(build)
        self._write_manifest(build, before)
        self._swap(index)
        gone = {name: size for name, size in known.items() if name not in build.files}
        ids = (f"{name}#{piece}" for name, size in gone.items() for piece in range(_pieces(size)))
        send(self._server, (Action(self._files, id, None, "delete") for id in ids))

    def _make_files_index(self) -> None:
        body: Body = {
            "settings": {"index": {"number_of_replicas": self._settings.replicas}},
            "mappings": {"enabled": False},
            "aliases": {self._files: {"is_write_index": True}},
        }
        try:
            self._server.request("PUT", f"/{quoted(f'{self._files}-000001')}", body)
        except StatusError as error:
            if "resource_already_exists" not in str(error):
                raise

    def _pieces_of(self, build: Build, names: list[str]) -> Iterator[Action]:
        for name in names:
            with (build.folder / name).open("rb") as file:
                for number in range(_pieces(build.files[name])):
                    data = base64.b64encode(file.read(_PIECE_BYTES)).decode("ascii")
                    yield Action(self._files, f"{name}#{number}", {"data": data})

    def _write_manifest(self, build: Build, before: Body | None) -> None:
        """Write the manifest, unless another build came in between."""
        control: tuple[tuple[str, Any], ...] = ()
        if before:
            control = (
                ("if_seq_no", before["_seq_no"]),
                ("if_primary_term", before["_primary_term"]),
            )
        operation = "index" if before else "create"
        entry = {"data": json.dumps(build.manifest)}
        if "conflict" in send(
            self._server, [Action(self._files, MANIFEST, entry, operation, control)]
        ):
            raise EngineBusyError(
                f"another build of facets was put on {self._server.address} meanwhile;"
                " run the same command again"
            )

    def _fill(self, build: Build) -> str:
        """Return the new index that holds the combinations of a build."""
        index = f"{self._facets}-{self._last_number() + 1:0{_NUMBERS}}"
        body = index_body(IndexName.FACETS, self._settings)
        filling = f"{self._facets}-filling"
        body["aliases"] = {filling: {"is_write_index": True}}
        body["settings"]["index"]["refresh_interval"] = "-1"
        self._server.request("DELETE", f"/{quoted(index)}", params={"ignore_unavailable": "true"})
        self._server.request("PUT", f"/{quoted(index)}", body)
        send(self._server, (Action(filling, one["id"], one) for one in build.entries()))
        refreshing = {"index": {"refresh_interval": None}}
        self._server.request("PUT", f"/{quoted(index)}/_settings", refreshing)
        self._server.request("POST", f"/{quoted(index)}/_refresh")
        return index

    def _last_number(self) -> int:
        numbers = [int(name.rpartition("-")[2]) for name in self._concrete()]
        return max(numbers, default=0)

    def _concrete(self) -> list[str]:
        """Return the indices that the alias of facets stands for."""
        found = self._server.request(
            "GET", f"/{quoted(self._facets)}", params={"ignore_unavailable": "true"}
        )
        return sorted(found)

    def _swap(self, index: str) -> None:
        """Let the alias stand for another index, and remove what it stood for."""
        actions: list[Body] = [{"remove_index": {"index": name}} for name in self._concrete()]
        added = {"index": index, "alias": self._facets, "is_write_index": True}
        removed = {"index": index, "alias": f"{self._facets}-filling"}
        actions += [{"add": added}, {"remove": removed}]
        self._server.request("POST", "/_aliases", {"actions": actions})


def _pieces(size: int) -> int:
    return -(-size // _PIECE_BYTES)
