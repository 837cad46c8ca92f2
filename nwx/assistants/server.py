"""The MCP server of an archive, with viewers, rate limits and an audit log."""

import asyncio
import json
import math
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from cachetools import LRUCache

from nwx.access.restricted_engine import RestrictedEngines
from nwx.archive import Archive
from nwx.assistants.questions import INSTRUCTIONS, fitted, json_of, schema_of, without_hidden_signs
from nwx.assistants.tools import TOOLS, Tool
from nwx.engine.access.rules import EVERYBODY, Role, Viewer
from nwx.engine.base import Engine, open_engine
from nwx.engine.document_index import Work, working
from nwx.errors import NwxError, SourceError, UsageError
from nwx.settings import Settings

try:
    import anyio
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
        TextContent,
        ToolAnnotations,
    )
    from mcp_types import Tool as ListedTool
except ImportError as error:
    raise UsageError(
        "assistants need the package mcp, which is not installed; run pip install 'nwx[mcp]'"
    ) from error

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from webapp.server.protection import ClientLimits

_AT_ONCE = 4
_KEPT = 16
_COSTLY = ("quote", "verify_quote", "captures", "missing")


@dataclass(frozen=True, slots=True)
class AssistantAnswer:
    """The answer of a tool: JSON with untrusted text marked, or an error."""

    shown: dict[str, Any] = field(default_factory=dict)
    error: str = ""


class AssistantDesk:
    """Answers tool calls of assistants from an open engine; threads may share it."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        audit: "AuditLog | None" = None,
        limits: "ClientLimits | None" = None,
    ) -> None:
        self._settings = settings
        self._engines = RestrictedEngines(engine)
        self._archives: LRUCache[int, tuple[Engine, Archive]] = LRUCache(_KEPT)
        self._audit = audit
        self._limits = limits

    @classmethod
    def open(
        cls, stack: ExitStack, settings: Settings, audit: Path | None = None
    ) -> "AssistantDesk":
        """Return the desk of an archive; `stack` closes everything it opens."""
        engine = stack.enter_context(open_engine(settings, read_only=True))
        engine.check()
        log = AuditLog(audit) if audit else None
        limits = None
        if settings.protection.rate:
            # Imported here: most services have no limits, and this loads the web pages.
            from webapp.server.protection import SharedProtection

            limits = SharedProtection.create(stack, settings.protection, 1).limits(stack)
        return cls(engine, settings, log, limits)

    def answer(self, name: str, arguments: dict[str, Any], viewer: Viewer) -> AssistantAnswer:
        """Return a tool's answer to a viewer, after logging it."""
        started = time.monotonic()
        answer = self._answer(name, arguments, viewer)
        if self._audit is not None:
            took_ms = round(1_000 * (time.monotonic() - started))
            self._audit.add(viewer, name, arguments, answer.error or "answered", took_ms)
        return answer

    def _answer(self, name: str, arguments: dict[str, Any], viewer: Viewer) -> AssistantAnswer:
        tool = TOOLS.get(name)
        if tool is None:
            return AssistantAnswer(error=f"there is no tool {without_hidden_signs(name[:100])}")
        if wait := self._wait(name, viewer):
            return AssistantAnswer(error=f"too many requests; try again in {math.ceil(wait)} s")
        try:
            asked = msgspec.convert(arguments, tool.asked)
            with working(Work(self._settings.search_seconds)):
                found = tool.answer(self._archive(viewer), asked)
                return AssistantAnswer(fitted(found, asked))
        except (NwxError, msgspec.ValidationError) as error:
            return AssistantAnswer(error=without_hidden_signs(str(error)))

    def _wait(self, tool: str, viewer: Viewer) -> float:
        if self._limits is None:
            return 0.0
        from webapp.server.protection import SCAN, SEARCH, USER_SHARE, payer_at

        payer = f"user {viewer.user}" if viewer.user else payer_at(viewer.address)
        cost = SCAN if tool in _COSTLY else SEARCH
        return self._limits.take(payer, cost, USER_SHARE if viewer.user else 1)

    def _archive(self, viewer: Viewer) -> Archive:
        """Return the archive as a viewer sees it by the current access rules."""
        engine = self._engines.for_viewer(viewer)
        kept = self._archives.get(id(engine))
        if kept is None or kept[0] is not engine:
            kept = self._archives[id(engine)] = engine, Archive.over(engine, self._settings)
        return kept[1]


class AuditLog:
    """A log of JSON lines: each tool call with its time, viewer and outcome."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write(b"")  # fails early if the file cannot be written

    def add(
        self, viewer: Viewer, tool: str, arguments: dict[str, Any], outcome: str, took_ms: int
    ) -> None:
        """Append a line; raises SourceError if it cannot be written."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "user": viewer.user,
            "address": viewer.address,
            "tool": tool,
            "arguments": arguments,
            "outcome": outcome,
            "took_ms": took_ms,
        }
        self._write(json.dumps(line).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)
        except OSError as error:
            raise SourceError(f"cannot write {self._path}: {error.strerror}") from error


def assistant_server(desk: AssistantDesk, viewer: Viewer = EVERYBODY) -> "Server[Any]":
    """Return an MCP server; over HTTP, the viewer is the user of a request's token."""
    limiter = anyio.CapacityLimiter(_AT_ONCE)
    listed = ListToolsResult(tools=[_listed(name, tool) for name, tool in TOOLS.items()])

    async def list_tools(
        context: "ServerRequestContext[Any]", asked: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return listed

    async def call_tool(
        context: "ServerRequestContext[Any]", asked: CallToolRequestParams
    ) -> CallToolResult:
        asker = viewer_of_request(context.request, viewer)
        ask = partial(desk.answer, asked.name, asked.arguments or {}, asker)
        answer = await anyio.to_thread.run_sync(ask, limiter=limiter)
        text = answer.error or json_of(answer.shown)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=None if answer.error else answer.shown,
            is_error=bool(answer.error),
        )

    return Server(
        "nwx",
        version=version("nwx"),
        title="Web archive",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def assistant_viewer(user: str, *, sees_all: bool = False) -> Viewer:
    """Return the viewer that assistants act as; with `sees_all`, rules hide nothing from it."""
    return Viewer(user=user, role=Role.ADMINISTRATOR if sees_all else Role.READER)


def viewer_of_request(request: Any, viewer: Viewer) -> Viewer:
    """Return the viewer of a request: its token's user and address, else the command's viewer."""
    if request is None:
        return viewer
    user = request.user.access_token.subject or viewer.user
    return Viewer(request.client.host if request.client else "", user, viewer.role)


def _listed(name: str, tool: Tool) -> ListedTool:
    return ListedTool(
        name=name,
        description=tool.asked.__doc__,
        input_schema=schema_of(tool.asked),
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


def serve_stdio(settings: Settings, viewer: Viewer, audit: Path | None) -> None:
    """Serve an assistant on standard input and output until it closes them."""
    with ExitStack() as stack:
        server = assistant_server(AssistantDesk.open(stack, settings, audit), viewer)

        async def serve() -> None:
            try:
                async with stdio_server() as (reading, writing):
                    await server.run(reading, writing, server.create_initialization_options())
            except* anyio.BrokenResourceError:
                pass  # a signal arrived while invalid JSON was being refused
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError

        anyio.run(serve)
