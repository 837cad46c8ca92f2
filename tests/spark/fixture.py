"""The fixture `spark`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nwx.jobs.session import SessionOptions, job_session
from tests.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""A short run on little data compiles in a fraction of the time."""

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """A session with two executors in separate processes; it lasts until the tests end.

    Tests that use it are in the xdist group `spark`, as starting it takes seconds and a few
    hundred MB. Readers defined by tests are pickled by value if they are nested in functions.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(find_java()))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        conf = {
            "spark.driver.extraJavaOptions": _FRUGAL,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.extraJavaOptions": _FRUGAL,
            "spark.executorEnv.PYTHONPATH": path,
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
        }
        with job_session(SessionOptions("local-cluster[2,1,1024]", conf)) as session:
            yield session
