"""The search state of a folder."""

from pathlib import Path

from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.model import Dates, IndexName
from tests.conformance.archive import batch, page


def test_the_state_is_another_one_after_each_change(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path) as writer:
        writer.create()
        writer.write(batch([page("http://a.example/", "2010", "stone")]))
        with EmbeddedEngine(tmp_path, read_only=True) as reader:
            states = [reader.search_state()]
            assert reader.search_state() == states[0]
            writer.write(batch([page("http://b.example/", "2011", "stone")]))
            writer.refresh()
            states.append(reader.search_state())
            found = writer.documents(list(_ids(writer)))
            key = next(iter(found.values()))
            dates = Dates(f"{key.capture.url} {key.capture.digest}", (("20150101000000", "late"),))
            writer.append_dates([dates])
            writer.refresh()
            states.append(reader.search_state())
            writer.append_dates([Dates(dates.key, (("20160101000000", "later"),))], "further")
            writer.attach_dates("further")
            states.append(reader.search_state())
            assert reader.search_state() == states[-1]
            assert len(set(states)) == 4


def _ids(engine: EmbeddedEngine) -> list[str]:
    return [str(entry["id"]) for entry in engine.scan(IndexName.DOCUMENTS)]
