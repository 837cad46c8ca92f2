"""Faults of a cluster are reported by kind and location."""

from pathlib import Path

import pytest

from nwx.zipnum.verification import FAULTS_LISTED, ClusterFault, VerifyReport, verify_cluster
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index


def test_a_cluster_without_faults(tmp_path: Path) -> None:
    report = verify_cluster(str(write_cluster(tmp_path, cdxj_lines(200))))
    assert (report.files, report.blocks, report.lines, report.faults) == (1, 4, 200, [])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda index: index.replace(b"\t2\n", b"\t7\n"), "lineno"),
        (lambda index: b"".join(reversed(index.splitlines(True))), "index"),
        (lambda index: index + b"broken\n", "index"),
        (lambda index: b"".join(index.splitlines(True)[1:]), "offset"),
        (lambda index: index.replace(b"org,site00", b"org,site0/", 1), "key"),
    ],
)
def test_faults_of_an_index_are_told(tmp_path: Path, change: object, kind: str) -> None:
    path = write_cluster(tmp_path, cdxj_lines(200))
    path.write_bytes(change(path.read_bytes()))  # type: ignore[operator]
    assert kind in verify_cluster(str(path)).counts


def test_a_digest_that_does_not_fit_is_told(tmp_path: Path) -> None:
    path = write_wacz_index(tmp_path, cdxj_lines(200))
    index = path.read_bytes()
    at = index.rindex(b"sha256:") + 7
    path.write_bytes(index[:at] + (b"0" if index[at : at + 1] != b"0" else b"1") + index[at + 1 :])
    assert verify_cluster(str(path)).counts == {"digest": 1}


def test_the_first_faults_are_listed_and_all_are_counted() -> None:
    report, whole = VerifyReport(), VerifyReport()
    for _ in range(FAULTS_LISTED + 5):
        report.add(ClusterFault("torn", "f", 0, "m"))
    whole.join(report)
    whole.join(report)
    assert (len(whole.faults), whole.counts["torn"]) == (FAULTS_LISTED, 2 * (FAULTS_LISTED + 5))
