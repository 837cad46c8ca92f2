"""Names of parameters that are mistakes."""

import pytest

from nwx.cdxserver.query.parameter_names import KNOWN, check_names
from nwx.errors import CdxQueryError


def test_known_names_and_those_of_clients_pass() -> None:
    check_names([*KNOWN, "_", "cb", "utm_source"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("match_type", "matchType"),
        ("filtr", "filter"),
        ("mimetype", "filter=mimetype:VALUE"),
        ("accesspoint", "not supported"),
    ],
)
def test_a_name_that_was_meant_for_another_is_an_error(name: str, hint: str) -> None:
    with pytest.raises(CdxQueryError, match=hint):
        check_names([name])
