"""How far the stages of a job are, told to whoever shows it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from nwx.bulk.progress import ShowProgress, WorkProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_SECONDS = 1.0


@contextmanager
def shown_stages(spark: "SparkSession", step: str, progress: ShowProgress) -> Iterator[None]:
    """Show while Spark works inside how many tasks of the stages that run are done."""
    from py4j.protocol import Py4JError

    over = Event()

    def watch() -> None:
        while not over.wait(_EVERY_SECONDS):
            try:
                done, total = _tasks(spark)
            except Py4JError:
                return  # Spark is gone, which the work inside notices too
            if total:
                progress(WorkProgress(step, done, total))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _tasks(spark: "SparkSession") -> tuple[int, int]:
    """Return how many tasks of all stages that run are done, and how many there are."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
