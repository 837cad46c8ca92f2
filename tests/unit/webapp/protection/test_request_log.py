import json
from pathlib import Path

import pytest

from nwx.errors import SettingsError
from webapp.protection.request_log import RequestLog, request_id

ASKED = {
    "REQUEST_METHOD": "GET",
    "SCRIPT_NAME": "/web",
    "PATH_INFO": '/search"\n',
    "QUERY_STRING": "q=tide",
    "REMOTE_ADDR": "192.0.2.7",
    "HTTP_USER_AGENT": "x" * 5_000,
}


def test_processes_append_a_line_for_each_request(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    logs = [RequestLog(str(path)), RequestLog(str(path))]
    for log in logs:
        log.add(ASKED | {"HTTP_X_REQUEST_ID": "7f-01"}, 200, 0.0123456789)
        log.close()
    one, other = map(json.loads, path.read_text().splitlines())
    assert one["id"] == other["id"] == "7f-01"
    assert (one["client"], one["method"], one["status"]) == ("192.0.2.7", "GET", 200)
    assert (one["path"], one["query"], one["seconds"]) == ('/web/search"\n', "q=tide", 0.012346)
    assert len(one["agent"]) == 2_000
    assert one["time"].endswith("Z")


@pytest.mark.parametrize("given", ["", "a b", "a\r\nb: c", "é"])
def test_ids_that_could_be_more_than_ids_are_replaced(given: str) -> None:
    environ = {"HTTP_X_REQUEST_ID": given}
    found = request_id(environ)
    assert found not in ("", given)
    assert request_id(environ) == found


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the log of requests"):
        RequestLog(str(tmp_path / "missing" / "log"))


def test_a_full_disk_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog("/dev/full")
    log.add(ASKED, 200, 0.1)
    log.add(ASKED, 200, 0.1)
    log.close()
    assert [one.getMessage() for one in caplog.records] == [
        "the log of requests cannot be written: No space left on device"
    ]
