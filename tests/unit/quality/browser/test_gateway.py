import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from nwx.quality.browser.gateway import (
    Gateway,
    Traffic,
    is_local,
    is_of_browser,
    place_of_address,
)
from nwx.quality.browser.targets import ArchivePlayback, LiveWeb, PlaybackTarget

BODY = b"x" * 10_000


class Server:
    """A server with one response that records the headers of requests."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.port = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        length = b"Content-Length: %d" % len(BODY)
        writer.write(b"HTTP/1.1 200 OK\r\n" + length + b"\r\nConnection: close\r\n\r\n" + BODY)
        await writer.drain()
        writer.close()


async def asked(gateway: Gateway, request: bytes) -> bytes:
    """Return the response of the gateway."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def run(
    target_of: Callable[[int], PlaybackTarget],
    scenario: Callable[[Gateway, Server], Awaitable[None]],
) -> None:
    """Run a scenario between a gateway and a server."""

    async def main() -> None:
        behind = Server()
        listening = await asyncio.start_server(behind.answer, "127.0.0.1", 0)
        behind.port = listening.sockets[0].getsockname()[1]
        gateway = Gateway(target_of(behind.port))
        await gateway.start()
        gateway.traffic = Traffic(1 << 20, 10)
        async with asyncio.timeout(20):
            await scenario(gateway, behind)
        await gateway.close()
        listening.close()
        await asyncio.sleep(0)

    with ThreadPoolExecutor(1) as thread:  # the main thread may run a browser's event loop
        thread.submit(asyncio.run, main()).result()


def playback(port: int) -> PlaybackTarget:
    return ArchivePlayback(f"http://127.0.0.1:{port}/replay")


def test_the_player_is_reached_as_a_server_is() -> None:
    async def scenario(gateway: Gateway, behind: Server) -> None:
        place = f"127.0.0.1:{behind.port}"
        request = f"GET http://{place}/replay/x?y=http://z/ HTTP/1.1\r\nHost: {place}\r\n"
        request += "Proxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n"
        answer = await asked(gateway, request.encode())
        assert answer.endswith(BODY) and answer.startswith(b"HTTP/1.1 200")
        assert behind.heads == [
            f"GET /replay/x?y=http://z/ HTTP/1.1\r\nHost: {place}\r\nAccept: */*\r\n"
            "Connection: close\r\n\r\n".encode()
        ]
        assert gateway.traffic is not None
        assert gateway.traffic.bytes >= len(BODY) and not gateway.traffic.refused

    run(playback, scenario)


@pytest.mark.parametrize(
    "line, origin",
    [
        ("GET http://127.0.0.1:9200/ HTTP/1.1", "http://127.0.0.1:9200/"),
        ("GET http://live.example/x HTTP/1.1", "http://live.example:80/"),
        ("CONNECT live.example:443 HTTP/1.1", "https://live.example:443/"),
        ("CONNECT 127.0.0.1:{port} HTTP/1.1", "https://127.0.0.1:{port}/"),
        ("GET http://127.0.0.1:{port}@live.example/ HTTP/1.1", "http://live.example:80/"),
        ("GET https://127.0.0.1:{port}/ HTTP/1.1", "http:///"),
        ("GET /replay/x HTTP/1.1", "http:///"),
        ("GET http://127.0.0.1:99999999/ HTTP/1.1", "http:///"),
        ("GET http://[::1/ HTTP/1.1", "http:///"),
    ],
)
def test_nothing_else_is_reached_in_playback(line: str, origin: str) -> None:
    async def scenario(gateway: Gateway, behind: Server) -> None:
        request = line.format(port=behind.port) + "\r\nHost: a\r\n\r\n"
        assert (await asked(gateway, request.encode())).startswith(b"HTTP/1.1 403")
        assert behind.heads == []
        assert gateway.traffic is not None
        assert list(gateway.traffic.refused) == [origin.format(port=behind.port)]

    run(playback, scenario)


def test_rubbish_and_requests_between_pages_are_refused_without_counting() -> None:
    async def scenario(gateway: Gateway, behind: Server) -> None:
        traffic = gateway.traffic
        assert (await asked(gateway, b"rubbish\r\n\r\n")).startswith(b"HTTP/1.1 403")
        gateway.traffic = None
        request = f"GET http://127.0.0.1:{behind.port}/ HTTP/1.1\r\n\r\n"
        assert (await asked(gateway, request.encode())).startswith(b"HTTP/1.1 403")
        assert behind.heads == [] and traffic is not None and not traffic.refused

    run(playback, scenario)


@pytest.mark.parametrize("limits", [Traffic(5_000, 10), Traffic(1 << 20, 1)])
def test_a_page_gets_so_much_and_no_more(limits: Traffic) -> None:
    async def scenario(gateway: Gateway, behind: Server) -> None:
        gateway.traffic = limits
        request = f"GET http://127.0.0.1:{behind.port}/ HTTP/1.1\r\n\r\n".encode()
        for _ in range(4):
            answer = await asked(gateway, request)
        assert answer.startswith(b"HTTP/1.1 403")
        assert limits.excess in ("bytes", "requests")
        assert len(behind.heads) <= 2

    run(playback, scenario)


def test_live_requests_go_to_the_proxy_as_they_are_and_none_to_local_addresses() -> None:
    async def scenario(gateway: Gateway, behind: Server) -> None:
        assert gateway.traffic is not None
        gateway.traffic.own = ("127.0.0.1:7",)
        for address in ("http://93.184.215.14/x", "http://127.0.0.1:7/"):
            request = f"GET {address} HTTP/1.1\r\nHost: a\r\n\r\n"
            assert (await asked(gateway, request.encode())).endswith(BODY)
            assert behind.heads.pop().startswith(f"GET {address} HTTP/1.1\r\n".encode())
        for place in ("127.0.0.1:9200", "localhost:1", "10.1.2.3:80", "169.254.169.254:80"):
            request = f"GET http://{place}/ HTTP/1.1\r\n\r\n"
            assert (await asked(gateway, request.encode())).startswith(b"HTTP/1.1 403")
        assert (await asked(gateway, b"CONNECT [::1]:9200 HTTP/1.1\r\n\r\n")).startswith(
            b"HTTP/1.1 403"
        )
        assert behind.heads == []
        assert gateway.traffic.counts()["connections"] == 5

    run(lambda port: LiveWeb(f"http://127.0.0.1:{port}"), scenario)


@pytest.mark.parametrize(
    "place, local",
    [
        ("localhost.:80", True),
        ("x.localhost.:80", True),
        ("[::ffff:127.0.0.1]:80", True),
        ("[::127.0.0.1]:80", True),
        ("[64:ff9b::7f00:1]:80", True),
        ("[64:ff9b::5db8:d70e]:80", False),
        ("[2002:7f00:1::]:80", True),
        ("[fec0::1]:80", True),
        ("239.255.255.250:80", True),
        ("0.0.0.0:80", True),
        ("[2606:4700::1111]:80", False),
    ],
)
def test_local_places(place: str, local: bool) -> None:
    with ThreadPoolExecutor(1) as thread:  # the main thread may run a browser's event loop
        assert thread.submit(asyncio.run, is_local(place)).result() is local


def test_a_player_that_is_gone_is_no_answer() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]

    async def scenario(gateway: Gateway, _: Server) -> None:
        request = f"GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n"
        assert (await asked(gateway, request.encode())).startswith(b"HTTP/1.1 502")

    run(lambda _: playback(port), scenario)


def test_requests_of_the_browser_itself_are_known() -> None:
    assert is_of_browser("update.googleapis.com:443")
    assert not is_of_browser("live.example:443")
    assert not is_of_browser("google.com.evil.example:80")


@pytest.mark.parametrize(
    "address, place",
    [
        ("http://A.example/x", "a.example:80"),
        ("wss://a.example", "a.example:443"),
        ("https://user@a.example:8443/", "a.example:8443"),
        ("http://[::1]/", "[::1]:80"),
        ("http://[::1]:9200/", "[::1]:9200"),
    ],
)
def test_the_place_of_an_address(address: str, place: str) -> None:
    assert place_of_address(address) == place
