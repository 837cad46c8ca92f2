"""Required files by name."""

from nwx.engine.required_files import stored_name, unmet_requirements
from nwx.model import SourceFile


def test_a_requirement_is_met_by_a_file_of_its_name() -> None:
    required = {"filename": "crawls/a.wacz"}, {"filename": "b.wacz"}
    user = SourceFile("one", "c.wacz#archive/c.warc.gz", "", None, "", requires=required)
    held = SourceFile("two", "a.wacz#archive/a.warc.gz", "", None, "")
    assert stored_name(held.name) == "a.wacz"
    assert stored_name("a.warc.gz") == "a.warc.gz"
    assert unmet_requirements([user, held]) == {("one", user.name): required[1:]}
