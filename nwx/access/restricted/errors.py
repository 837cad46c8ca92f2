"""What is said of captures that are in the archive and may not be shown."""

from typing import Self

from nwx.engine.access.decisions import Decision
from nwx.engine.access.rules import Action
from nwx.errors import ErrorText, NwxError

_WORDS = {
    Action.BLOCK: ErrorText("it is blocked"),
    Action.EMBARGO: ErrorText("it is under embargo"),
    Action.LOCAL: ErrorText("it can be seen at certain places only, such as the reading room"),
}


class HiddenError(NwxError):
    """Something in the archive that may not be shown to whoever asks for it.

    `action` is block, embargo or local, `reason` the public one of the rule.
    `until` (14 digits) is the end of the embargo, "" where there is none, or
    where it ends so many `years` after the capture.
    """

    def __init__(
        self, action: Action, reason: str = "", until: str = "", years: int | None = None
    ) -> None:
        super().__init__(_message(action, reason, until, years))
        self.action, self.reason, self.until, self.years = action, reason, until, years

    @classmethod
    def of(cls, decision: Decision) -> Self:
        """Return the error of what rules say of a capture."""
        rule = decision.rule
        if rule is None:
            return cls(decision.action)
        return cls(decision.action, rule.reason, rule.until, rule.years)


def _message(action: Action, reason: str, until: str, years: int | None) -> ErrorText:
    words = ErrorText(
        "this is in the archive, but may not be shown: %(why)s", why=_why(action, until, years)
    )
    return ErrorText("%(words)s (%(reason)s)", words=words, reason=reason) if reason else words


def _why(action: Action, until: str, years: int | None) -> ErrorText:
    why = _WORDS.get(action, ErrorText(action))
    if until:
        date = f"{until[:4]}-{until[4:6]}-{until[6:8]}"
        return ErrorText("%(why)s until %(date)s", why=why, date=date)
    if years:
        return ErrorText(
            "%(why)s until %(years)s years after it was captured", why=why, years=years
        )
    return why
