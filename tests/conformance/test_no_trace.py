"""Hidden captures leave no trace on any page or in the output of any command.

An archive with hidden material, and one that never had it, must give the same answers by every
route of the application and every command. Routes and commands that this module does not cover fail
it.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from nwx.engine.access.rules import Action
from nwx.engine.indices.picture_index import picture_from_entry
from nwx.model import IndexName
from tests.conformance.planted import HOME, PLANTED, SCOPED, SECRET, UNSEEN, Archive, planted_pair
from tests.conformance.trace_answers import (
    Answer,
    Subject,
    asked,
    command_names,
    difference,
    endpoints,
    home_of,
    is_about_one,
    printed,
)
from tests.conformance.trace_commands import COMMANDS, QUIET
from tests.conformance.traces import ROUTES, WITHOUT_TRACES
from webapp import create_app

ABOVE_ENGINES = True

REPLAY_PORT = 9_999
OUT = "out"
FEW = (Action.ALLOW, Action.EXCLUDE)
TOLD = (Action.BLOCK, Action.EMBARGO, Action.LOCAL)
"""Requests for the address of such captures are told that they are hidden."""


@dataclass(frozen=True)
class Pair:
    """An archive with hidden material, one that never had it, and the subjects of requests."""

    hidden: Archive
    never: Archive
    apps: tuple[Flask, Flask]
    subjects: tuple[Subject, ...]

    @property
    def clients(self) -> tuple[FlaskClient, FlaskClient]:
        """Clients of both applications."""
        return self.apps[0].test_client(), self.apps[1].test_client()

    def names(self, template: str, out: str = "") -> Iterator[tuple[Subject, str]]:
        """Yield the request for each subject, or one request if it names none."""
        home = self.subjects[0]
        for subject in self.subjects if is_about_one(template) else (home,):
            yield subject, template.format(**subject.names(home.capture, out))


@pytest.fixture(scope="module")
def pair(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Pair]:
    """An archive with hidden material, and one that never had it."""
    with planted_pair(kind, tmp_path_factory.mktemp(kind), request) as (hidden, never):
        apps = [
            create_app(one.engine, replay_port=REPLAY_PORT, triples=one.settings)
            for one in (hidden, never)
        ]
        subjects = tuple(_subjects(hidden))
        if kind != "embedded":
            # The code is the same: one subject for each action in FEW is enough.
            firsts = {one.action: one for one in reversed(subjects)}
            subjects = tuple(firsts[action] for action in FEW)
        yield Pair(hidden, never, (apps[0], apps[1]), subjects)


def _subjects(archive: Archive) -> Iterator[Subject]:
    captures = [one for one, _ in archive.engine.captures_since("")]
    actions = {url: action for action, url in PLANTED.items()} | {UNSEEN: Action.EXCLUDE}
    actions |= dict.fromkeys(SCOPED.values(), Action.EXCLUDE)
    actions[SCOPED["years"]] = Action.EMBARGO
    entries = archive.engine.scan(IndexName.PICTURES)
    pictures = [picture_from_entry(one) for one in entries if one["kind"] == "picture"]
    of_host = {one.host: one for one in pictures}
    home = home_of(captures)
    yield Subject(home, picture=of_host[home.host])
    for one in captures:
        if one.url in actions:
            yield Subject(one, actions[one.url], of_host.get(one.host))
        elif one.url == HOME and one.timestamp > "2018":
            yield Subject(one, Action.EXCLUDE)


def check_alike(hidden: Answer, never: Answer, what: str, subject: Subject) -> None:
    """Compare the answers of the archives with and without hidden material."""
    if hidden.status in (451, 1) and hidden != never and subject.action in TOLD:
        assert SECRET not in hidden.text.lower(), what
        assert "may not be shown" in hidden.text, what
        return
    assert (hidden.status, hidden.headers) == (never.status, never.headers), what
    assert hidden.text == never.text, f"{what}: {difference(hidden, never)}"


def test_all_routes_are_known(pair: Pair) -> None:
    known = {*ROUTES, *WITHOUT_TRACES}
    assert endpoints(pair.apps[0]) - known == set(), "tell in traces.py how to ask them"


@pytest.mark.parametrize("endpoint", ROUTES)
def test_no_route_shows_it(pair: Pair, endpoint: str) -> None:
    answered = set()
    for template in ROUTES[endpoint]:
        for subject, address in pair.names(template):
            hidden, never = (asked(client, address) for client in pair.clients)
            check_alike(hidden, never, address, subject)
            answered.add(never.status)
    assert answered & {200, 302, 307}, "none of the requests is one that works"


ADDRESSES = (
    "/documents/{id}",
    "/api/documents/{id}",
    "/documents/of?url={url}",
    "/thumbnail?url={url}&timestamp={time}",
    "/replay/{time}/{raw_url}",
)


@pytest.mark.parametrize("template", ADDRESSES)
def test_who_asks_for_the_address_is_told_that_it_is_hidden(pair: Pair, template: str) -> None:
    home = pair.subjects[0].capture
    for subject in pair.subjects:
        if subject.action in TOLD:
            answer = asked(pair.clients[0], template.format(**subject.names(home)))
            assert answer.status == 451, subject.action
            assert f"told for {subject.action}" in answer.text
            assert SECRET not in answer.text.lower()


def test_the_option_unrestricted_shows_it(pair: Pair) -> None:
    code, text = pair.hidden.nwx("--unrestricted", "search", SECRET, "--scroll")
    assert code == 0
    assert all(url in text for url in PLANTED.values())
    assert SECRET not in pair.hidden.nwx("search", SECRET, "--scroll")[1]
    asked_fields = f"server:{SECRET}* generator:{SECRET}* license:*{SECRET}* ip:192.0.2.5"
    code, text = pair.hidden.nwx("--unrestricted", "search", asked_fields, "--scroll")
    assert code == 0 and all(url in text for url in PLANTED.values())
    assert "22.000000,8.000000" in pair.hidden.nwx("--unrestricted", "dump", "documents")[1]


def test_all_commands_are_known() -> None:
    known = {*COMMANDS, *QUIET}
    assert set(command_names()) - known == set(), "tell in traces.py how to run them"


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_it(pair: Pair, command: str, tmp_path: Path) -> None:
    ended = set()
    for template in COMMANDS[command]:
        for number, (subject, line) in enumerate(pair.names(template, OUT)):
            answers = []
            for archive in (pair.hidden, pair.never):
                out = tmp_path / f"{len(answers)}-{number}"
                out.mkdir(exist_ok=True)
                answers.append(printed(archive, shlex.split(line), out))
            check_alike(answers[0], answers[1], line, subject)
            ended.add(answers[1].status)
    assert 0 in ended, "none of the lines is one that works"
