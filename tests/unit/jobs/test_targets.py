"""What jobs write of each archive file."""

from nwx.jobs.targets import FileTarget, path_below
from nwx.warc.sources import ArchiveSource


def test_paths_are_kept_below_a_folder_and_lead_nowhere_else() -> None:
    assert path_below("/in/a/b.warc", "/in") == path_below("/in/a/b.warc", "/in/") == "a/b.warc"
    assert path_below("/other/b.warc", "/in") == "other/b.warc"
    assert path_below("s3://bucket/../b.warc", "/in") == "bucket/b.warc"
    assert path_below("/in/../../etc/b.warc", "/in") == "etc/b.warc"


def test_addresses_are_far() -> None:
    for path, is_far in (("s3://bucket/a.warc", True), ("/in/a.warc", False)):
        assert FileTarget(ArchiveSource("a.warc", path, 1), "a.cdx").is_far is is_far
