"""Test the kinds of faults of pages in playback."""

from nwx.values.fault_kinds import FaultKind


def test_a_kind_is_written_as_its_value() -> None:
    assert f"{FaultKind.REDIRECT_LOOP}" == "redirect_loop"
