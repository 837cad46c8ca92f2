"""The current build of links, cached with its graphs."""

from functools import partial
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import NotBuiltError
from nwx.links.archive_links import GraphKey, KeptLinks
from nwx.links.build import InlinkBuildOptions, invert_links
from tests.links import page


def test_answers_follow_the_current_build(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    reopen = partial(EmbeddedEngine, folder, read_only=True)
    with EmbeddedEngine(folder) as engine:
        engine.write(page("http://a.test/", ["http://b.test/"]))
        engine.refresh()
        answers = KeptLinks(engine)
        key = GraphKey(domains=False)
        for ask in (answers.links, partial(answers.graph, key), partial(answers.central, key)):
            with pytest.raises(NotBuiltError) as raised:
                ask()
            assert str(tmp_path) not in str(raised.value)  # pages and assistants show it
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        first = answers.graph(key)
        assert first is not None
        assert list(first.hosts) == ["a.test", "b.test"]
        assert answers.graph(key) is first
        engine.write(page("http://c.test/", ["http://b.test/"]))
        engine.refresh()
        assert answers.graph(key) is first
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        found = answers.central(key)
        assert found is not None
        graph, central = found
        assert list(graph.hosts) == ["a.test", "b.test", "c.test"]
        assert central.harmonic.tolist() == [0.0, 2.0, 0.0]
