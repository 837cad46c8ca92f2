"""Test the kinds of faults of pages in playback."""

from nwx.values.fault_kinds import PLAYBACK_FAILURES, FaultKind


def test_a_kind_is_written_as_its_value() -> None:
    assert f"{FaultKind.REDIRECT_LOOP}" == "redirect_loop"


def test_failures_of_the_page_are_not_of_its_resources() -> None:
    assert FaultKind.TIMEOUT in PLAYBACK_FAILURES
    assert FaultKind.MISSING not in PLAYBACK_FAILURES
