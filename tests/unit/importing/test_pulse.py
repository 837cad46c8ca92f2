"""What a process tells its parent through shared memory."""

from nwx.importing.pulse import Pulse


def test_nothing_is_extracted_at_first_nor_behind_a_record() -> None:
    pulse = Pulse()
    assert (pulse.extracting, pulse.position) == (None, 0)
    pulse.extracting, pulse.position = 0, 5
    assert (pulse.extracting, pulse.position) == (0, 5)
    pulse.extracting = None
    assert pulse.extracting is None
