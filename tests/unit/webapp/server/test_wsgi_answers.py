"""Threads survive any task."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from webapp.server.wsgi_answers import AnswerThreads


def test_a_task_that_fails_takes_no_thread_with_it() -> None:
    def fail() -> None:
        raise ValueError("no such piece")

    async def run() -> str:
        threads = AnswerThreads(1, "answer")
        with pytest.raises(ValueError, match="no such piece"):
            await threads.run(fail)
        found = await threads.run(lambda: "done")
        threads.end()
        return found

    # In a separate thread, as the main thread may have a running event loop.
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: asyncio.run(run())).result() == "done"
