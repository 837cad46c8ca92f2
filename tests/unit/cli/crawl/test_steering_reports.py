"""Messages of a watch about its background analysis."""

from dataclasses import replace
from typing import cast

import pytest

from nwx.cli.crawl.steering_reports import ToldAnalysis
from nwx.model import ReadError
from nwx.steering.listener import SteeringListener
from nwx.steering.options import SteeringReport


class _Listener:
    """A listener with a given report."""

    def __init__(self) -> None:
        self.now = SteeringReport("stones")

    def report(self) -> SteeringReport:
        return self.now

    def finish(self, stopping: object) -> SteeringReport:
        return self.now


def errors(count: int) -> tuple[ReadError, ...]:
    return tuple(ReadError("a.warc.gz", n, "analysis", f"page {n}") for n in range(count))


def test_what_went_wrong_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    listener = _Listener()
    told = ToldAnalysis(cast(SteeringListener, listener), as_json=False)

    def printed(report: SteeringReport) -> list[str]:
        listener.now = report
        told.finish(lambda: False)
        return capsys.readouterr().err.splitlines()

    failed = replace(listener.now, failed=7, errors=errors(7))
    assert printed(failed) == [
        *(f"nwx: a.warc.gz at {n}: page {n}" for n in range(5)),
        "nwx: … and 2 more pages not analysed",
    ]
    assert printed(replace(failed, analysed=1)) == []
    stopped = replace(failed, analysed=1, stopped="it crashed")
    [line] = printed(stopped)
    assert line.startswith("nwx: the analysis ended early: it crashed;")
    assert printed(replace(stopped, analysed=2)) == []
    assert printed(replace(stopped, failed=8, errors=errors(8))) == ["nwx: a.warc.gz at 7: page 7"]
    # Of many failures only the first ones are printed.
    assert printed(replace(stopped, failed=10, errors=errors(8))) == [
        "nwx: … and 2 more pages not analysed"
    ]
