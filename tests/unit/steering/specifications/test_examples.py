"""The words of example documents."""

from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.errors import SpecificationError
from nwx.settings import Settings
from nwx.steering.specifications.examples import completed_text
from nwx.steering.specifications.specification_files import read_specification
from tests.warcs import Page, html, write_warc


def test_the_words_of_files_are_added_and_a_threshold(tmp_path: Path) -> None:
    warc, page = tmp_path / "a.warc.gz", tmp_path / "b.html"
    write_warc(warc, [Page("http://a.test/", "20150101000000", html("A", "Quay and lighthouse."))])
    page.write_bytes(html("B", "The <b>lighthouse</b> of Skagen."))
    text = f'{{"name": "x", "keywords": ["skagen"], "like": ["{warc}", "{page}"]}}'
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        found = read_specification(completed_text(engine, text, "x", (), files=True), "x")
        with pytest.raises(SpecificationError, match=r"like\[1\]"):
            completed_text(engine, text, "x", (), files=False)
    assert [(one.text, one.weight) for one in found.like_words] == [("lighthouse", 1.0)]
    assert found.thresholds.relevant > 0.1
    assert [one.text for one in found.all_keywords] == ["skagen", "lighthouse"]
