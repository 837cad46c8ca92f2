"""nwx access: rules added, listed, tested, removed, logged, imported and exported."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.cli.main import cli
from nwx.errors import UsageError
from tests.cli.conftest import Nwx, Ran, run_nwx

URL = "http://example.com/secret"
ACLJ = b'com,b)/ - {"access": "block"}\ncom,a)/secret### - {"access": "exclude"}\n'


@pytest.fixture
def here(tmp_path: Path) -> Nwx:
    """Runs commands in this process, which is many times faster."""

    def run(*arguments: object, stdin: bytes = b"", code: int | None = 0) -> Ran:
        given = ["--engine", str(tmp_path / "archive"), *map(str, arguments)]
        ran = CliRunner().invoke(cli, given, input=stdin, standalone_mode=False)
        if isinstance(ran.exception, UsageError):
            found, told = 2, str(ran.exception)
        else:
            assert ran.exception is None, ran.exception
            found, told = ran.return_value or 0, ran.stderr
        assert found == code
        return Ran(found, ran.stdout, told)

    return run


def test_rules_are_added_listed_removed_and_logged(here: Nwx) -> None:
    added = here("access", "add", "exclude", URL, "--reason", "a judgement", "--json").json
    assert (added["prefix"], added["is_exact"]) == ("com,example)/secret", True)
    words = here(
        "access", "add", "embargo", "*", "--collection", "web", "--from", "2014", "--years", 3,
        "--reason", "a contract",
    ).out  # fmt: skip
    assert "embargo 3 years after capture, collection web, from 20140101000000" in words
    listed = here("access", "list")
    assert added["id"] in listed.out
    assert "secret" not in listed.out + here("access", "list", "--json").out
    assert "com,example)/sec" in here("--unrestricted", "access", "list").out
    assert added in here("--unrestricted", "access", "list", "--json").json
    assert here("access", "remove", added["id"]).out == "1 rule removed\n"
    assert "no access rule" in here("access", "remove", added["id"], code=2).err
    log = here("access", "log", "--json").json
    assert [each["change"] for each in log] == ["removed", "added", "added"]
    assert "secret" not in here("access", "log").out + str(log)
    assert "secret" in here("--unrestricted", "access", "log", "--limit", 1).out


def test_a_url_is_tested_for_a_viewer(here: Nwx) -> None:
    here("access", "add", "local", "example.com", "--address", "10.0.0.0/8", "--reason", "a house")
    found = here("access", "test", URL, "--json").json
    assert (found["action"], found["rule"]["reason"]) == ("local", "a house")
    assert here("access", "test", URL, "--address", "10.1.2.3").out.startswith("allow, by rule ")
    assert here("access", "test", "http://other.com/").out == "allow: no rule hides it\n"


def test_rules_are_read_from_and_written_to_files(here: Nwx, tmp_path: Path) -> None:
    place = tmp_path / "rules.aclj"
    place.write_bytes(ACLJ + b"no rule\n")
    read = here("access", "import", place, code=1)
    assert read.out == "2 rules read, 2 new\n"
    assert f"{place}, line 3: " in read.err
    again = here("access", "import", "-", "--json", stdin=ACLJ).json
    assert again == {"rules": 2, "new": 0, "problems": []}
    assert "--unrestricted" in here("access", "export", "-", code=2).err
    here("access", "add", "block", "*", "--collection", "web", "--reason", "r")
    written = here("--unrestricted", "access", "export", place, code=1)
    assert "collection" in written.err
    assert [line.split(" ")[0] for line in place.read_text().splitlines()] == [
        "com,b:", "com,b)/", "com,a)/secret###",
    ]  # fmt: skip
    whole = here("--unrestricted", "access", "export", "--json", "-").out
    assert here("access", "import", "-", stdin=whole.encode()).out == "3 rules read, 0 new\n"
    listed = b"http://example.org/a\n"
    assert here("access", "import", "-", "--action", "block", stdin=listed).out.endswith("1 new\n")


def test_wrong_rules_are_refused(here: Nwx) -> None:
    for arguments, message in (
        (("embargo", URL), "needs its end"),
        (("block", ""), "what the rule applies to"),
        (("block", URL, "--to", "soon"), "is not a date"),
        (("local", URL, "--address", "x"), "is not a network"),
        (("block", URL, "--user", "eva,ada"), "'eva,ada' is not a valid account name"),
    ):
        assert message in here("access", "add", *arguments, "--reason", "r", code=2).err


def test_the_command_ends_with_an_error_in_words(nwx: Nwx) -> None:
    assert "--reason" in nwx("access", "add", "block", URL, code=2).err
    assert nwx("access", "import", "-", stdin=ACLJ + b"no rule\n", code=1).err.startswith(
        "standard input, line 3: "
    )


def test_removing_a_rule_that_purges_warns(here: Nwx) -> None:
    here("access", "add", "block", "http://other.example/", "--reason", "makes the archive")
    rule = here("takedown", URL, "--purge", "--json").json["rule"]
    removed = here("access", "remove", rule["id"])
    assert removed.out == "1 rule removed\n"
    assert f"rule {rule['id']} kept purged captures out" in removed.err
    rule = here("takedown", URL, "--purge", "--json").json["rule"]
    assert here("access", "remove", rule["id"], "--json").json == {
        "removed": 1,
        "purged": [rule["id"]],
    }
    rule = here("takedown", URL, "--json").json["rule"]
    assert here("access", "remove", rule["id"]).err == ""


def test_rules_that_are_lost_are_not_taken_for_none(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    run_nwx(archive, "access", "add", "exclude", URL, "--reason", "a judgement")
    (archive / "access.db").unlink()
    for command in (
        ["search", "x"],
        ["dump", "captures"],
        ["access", "add", "block", URL, "--reason", "x"],
    ):
        ran = run_nwx(archive, *command, code=1)
        assert "access.db is damaged (it is missing); restore it" in ran.err
    assert "access.db: is missing" in run_nwx(archive, "check", code=1).out
    (archive / "access.db").touch()
    assert run_nwx(archive, "access", "list", "--json").json == []
