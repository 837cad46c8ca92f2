"""nwx mcp, used through the SDK's client as assistants do.

NWX_TEST_QUOTES sets how many quotations are verified.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from nwx.assistants.tools import TOOLS
from nwx.engine.base import open_engine
from nwx.settings import Settings
from tests.cli.conftest import COMMAND, QUARRY, environment, run_nwx
from tests.quoted_pages import altered, planted_pages

QUOTES = int(os.environ.get("NWX_TEST_QUOTES", "15"))


def _run(conversation: Callable[[], Awaitable[None]]) -> None:
    """Run in a separate thread: the main thread may run a browser's event loop."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, conversation).result()


def talk(
    engine: Path, conversation: Callable[[Client], Awaitable[None]], *options: str, **more: str
) -> None:
    """Have a conversation with `nwx mcp` over standard input and output."""
    server = StdioServerParameters(
        command=COMMAND, args=["mcp", *options], env=environment(engine, **more)
    )

    async def run() -> None:
        async with Client(server) as client:
            await conversation(client)

    _run(run)


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """Return the result of a tool, which must be the same as text and as JSON."""
    found = await client.call_tool(tool, arguments)
    (content,) = found.content
    assert not found.is_error, content.text
    assert json.loads(content.text) == found.structured_content
    return found.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Return the error message of a tool."""
    found = await client.call_tool(tool, arguments)
    assert found.is_error and found.structured_content is None
    return str(found.content[0].text)


def test_the_client_of_the_sdk_lists_and_calls_the_tools(quarry: Path) -> None:
    async def conversation(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == list(TOOLS)
        assert all(tool.annotations.read_only_hint for tool in listed)
        found = await answer(client, "search", query="marble")
        (hit,) = found["items"]
        text = (await answer(client, "document", id=hit["id"]))["passages"][0]
        assert hit["date"] == "20160126200624" and text["span"] == hit["span"]
        assert hit["replay"] == f"https://archive.example/replay/{hit['date']}/{QUARRY.url}"
        checked = await answer(client, "verify_quote", text="Slate and marble", url=QUARRY.url)
        assert checked["verified"] and checked["captures"][0]["digest"] == hit["digest"]
        for changed in ("Slate and Marble", "Slate or marble"):
            assert not (await answer(client, "verify_quote", text=changed))["verified"]

    talk(quarry, conversation, NWX_PUBLIC_URL="https://archive.example")


def test_true_quotations_are_verified_and_altered_ones_refused(tmp_path: Path) -> None:
    planted, quoted = planted_pages(29, QUOTES)
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
        engine.write(planted)
        engine.refresh()
    chance = Random(7)

    async def conversation(client: Client) -> None:
        for one in quoted:
            found = await answer(client, "verify_quote", text=one.text, url=one.url)
            assert found["verified"] is True, one
            assert (found["first"], found["last"]) == (one.present[0], one.present[-1])
            changed = altered(one.text, chance)
            found = await answer(client, "verify_quote", text=changed, url=one.url)
            assert found["verified"] is False and found["captures"] == [], changed

    talk(tmp_path / "archive", conversation)


def test_archived_texts_are_marked_and_steer_nothing(quarry: Path) -> None:
    async def conversation(client: Client) -> None:
        assert "untrusted" in (client.instructions or "")
        found = await answer(client, "search", query="escapes")
        (hit,) = found["items"]
        mark = found["marks"]
        assert hit["text"] == f"[[{mark}: quarry of escapes 31m \ufffdgnp :{mark}]]"
        assert hit["title"].startswith(f"[[{mark}: ") and hit["title"].isprintable()
        assert hit["url"].isprintable()
        again = await answer(client, "search", query="escapes")
        assert again["marks"] != mark
        assert "is not a field" in await refusal(client, "search", query="nofield:x")
        assert await refusal(client, "search", words="x")

    talk(quarry, conversation)


@pytest.fixture
def hidden(quarry: Path, tmp_path: Path) -> Path:
    """An archive in which only the staff see one of the pages."""
    place = tmp_path / "archive"
    shutil.copytree(quarry, place)
    run_nwx(place, "access", "add", "local", QUARRY.url, "--user", "staff", "--reason", "a test")
    return place


def test_a_user_sees_what_rules_show_them(hidden: Path) -> None:
    seen = {}

    async def conversation(client: Client) -> None:
        found = await answer(client, "verify_quote", text="Slate and marble")
        seen[len(seen)] = found["verified"]

    talk(hidden, conversation)
    talk(hidden, conversation, "--user", "staff")
    assert seen == {0: False, 1: True}


def test_questions_are_limited_and_logged(quarry: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"

    async def conversation(client: Client) -> None:
        for _ in range(60):
            await answer(client, "search", query="slate")
        await refusal(client, "verify_quote", text="...")
        for _ in range(5):
            refused = await client.call_tool("search", {"query": "slate"})
        assert "too many requests; try again in" in refused.content[0].text

    talk(quarry, conversation, "--audit", str(log), "--rate-limit", "0.001", "--user", "ada")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(lines) == 66 and {line["user"] for line in lines} == {"ada"}
    assert (lines[0]["tool"], lines[0]["arguments"]) == ("search", {"query": "slate"})
    assert lines[0]["outcome"] == "answered" and "too many" in lines[-1]["outcome"]
    assert log.stat().st_mode & 0o777 == 0o600


@contextmanager
def listening(engine: Path, *options: str) -> Iterator[tuple[str, str]]:
    """Yield the address and the token of `nwx mcp --http`; it must exit cleanly when stopped."""
    with subprocess.Popen(
        [COMMAND, "mcp", "--http", "0", *options],
        env=environment(engine),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            words = process.stdout.readline().split()
            yield words[4], words[8] if "token" in words else ""
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Traceback" not in err and process.returncode == 0


def over_http(
    address: str, token: str, conversation: Callable[[Client], Awaitable[None]], mode: str = "auto"
) -> None:
    """Have a conversation with `nwx mcp --http`."""

    async def run() -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
            transport = streamable_http_client(address, http_client=http)
            async with Client(transport, mode=mode) as client:
                await conversation(client)

    _run(run)


def test_a_token_opens_the_server_over_http(quarry: Path) -> None:
    async def conversation(client: Client) -> None:
        assert len((await client.list_tools()).tools) == len(TOOLS)
        assert (await answer(client, "verify_quote", text="Slate and marble"))["verified"]

    with listening(quarry) as (address, token):
        assert address.startswith("http://127.0.0.1:") and len(token) > 30
        for mode in ("auto", "legacy"):
            over_http(address, token, conversation, mode)
        with httpx2.Client() as http:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            named = {"Accept": "application/json, text/event-stream"}
            bearer = {"Authorization": f"Bearer {token}", **named}
            assert http.post(address, json=ping, headers=named).status_code == 401
            wrong = {**bearer, "Authorization": f"Bearer {token}x"}
            assert http.post(address, json=ping, headers=wrong).status_code == 401
            assert http.post(address, json=ping, headers=bearer).status_code == 200
            for rebound in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
                refused = http.post(address, json=ping, headers={**bearer, **rebound})
                assert refused.status_code in (403, 421)


def test_tokens_of_a_file_name_users(hidden: Path, tmp_path: Path) -> None:
    tokens, log = tmp_path / "tokens", tmp_path / "log"
    tokens.write_text(f"staff {'s' * 20}\n\n{'n' * 20}\n")
    seen = []

    async def conversation(client: Client) -> None:
        seen.append((await answer(client, "verify_quote", text="Slate and marble"))["verified"])

    options = "--token-file", str(tokens), "--audit", str(log)
    with listening(hidden, *options) as (address, told):
        assert told == ""
        for sign in "sn":
            over_http(address, sign * 20, conversation)
    assert seen == [True, False]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["user"], line["address"]) for line in lines] == [
        ("staff", "127.0.0.1"), ("", "127.0.0.1")]  # fmt: skip
    for wrong in ("", "short", "two words more-and-a-token-of-many"):
        tokens.write_text(wrong)
        assert run_nwx(hidden, "mcp", "--http", "0", *options, code=2).err
    missing = run_nwx(hidden, "mcp", "--http", "0", "--token-file", tmp_path / "none", code=1)
    assert "need --http" in run_nwx(hidden, "mcp", "--token-file", tokens, code=2).err
    assert missing.err.endswith("none cannot be read: No such file or directory\n")


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert "no archive" in run_nwx(tmp_path / "none", "mcp", code=1).err
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ImportError('no mcp')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv[:] = ['nwx', 'mcp']; "
    code += "from nwx.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, check=False
    )
    assert done.returncode == 2 and b"pip install 'nwx[mcp]'" in done.stderr


def test_it_ends_when_the_assistant_or_a_signal_says_so(quarry: Path) -> None:
    assert run_nwx(quarry, "mcp").out == ""
    with subprocess.Popen(
        [COMMAND, "mcp"],
        env=environment(quarry),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}\n{oops\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err and process.returncode == 130
