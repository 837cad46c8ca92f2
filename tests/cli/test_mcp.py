"""nwx mcp, asked by the client of the SDK as assistants ask."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from nwx.assistants.tools import TOOLS
from tests.cli.conftest import COMMAND, QUARRY, environment

Ask = Callable[..., Awaitable[Any]]


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

    anyio.run(run)


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    """Return what a tool answered, the same as text and as JSON."""
    found = await client.call_tool(tool, arguments)
    (content,) = found.content
    assert not found.is_error, content.text
    assert json.loads(content.text) == found.structured_content
    return found.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Return why a tool did not answer."""
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
