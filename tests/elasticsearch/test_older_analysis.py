"""An index of an older nwx version keeps its terms until it is copied and analysed again."""

import copy
import uuid

import pytest

from nwx import mappings
from nwx.engine.base import open_engine
from nwx.errors import UsageError
from nwx.maintenance.agreement import OLDER_WORDS, check
from nwx.model import IndexName
from nwx.query.tree import Term
from nwx.settings import ServerSettings, Settings
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask
from tests.conformance.engines.search_server import remove_indices


def test_reshard_analyses_older_documents_anew(
    elasticsearch_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(elasticsearch_url, ServerSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    older = copy.deepcopy(mappings.mapping(IndexName.DOCUMENTS))
    older["settings"]["analysis"]["analyzer"]["text"]["filter"] = ["lowercase", "folding"]
    now = mappings.mapping
    with open_engine(settings) as engine, monkeypatch.context() as patch:
        patch.setattr(
            mappings, "mapping", lambda index: older if index == IndexName.DOCUMENTS else now(index)
        )
        engine.create()
    try:
        with open_engine(settings) as engine:
            engine.write(batch([page("http://example.org/a", "2010", "the children's room")]))
            engine.refresh()
            assert ask(engine, Term("", "children")) == set()
            assert [one.kind for one in check(engine)] == [OLDER_WORDS]
            assert engine.shards().reshard(IndexName.DOCUMENTS, 1) == "copied"
            assert list(check(engine)) == []
            assert ask(engine, Term("", "children")) == {"a"}
            with pytest.raises(UsageError, match="already has 1 shards"):
                engine.shards().reshard(IndexName.DOCUMENTS, 1)
            assert engine.shards().reshard(IndexName.DOCUMENTS, 2) == "split"
    finally:
        remove_indices(settings)
