"""Threads go on whatever a task does."""

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

    # In a thread of its own: that of the tests may have a loop that runs.
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: asyncio.run(run())).result() == "done"
