"""Starting Spark, and the messages if that fails."""

import builtins
import sys
from pathlib import Path

import pytest

from nwx.errors import JobError
from nwx.jobs.session import (
    SessionOptions,
    failure_message,
    java_version,
    job_session,
    prepare_environment,
    session_conf,
)


def test_a_local_master_tries_tasks_again() -> None:
    def master(given: str, submitted: bool = False) -> str | None:
        return session_conf(SessionOptions(given), submitted=submitted).get("spark.master")

    assert master("") == "local[*,4]"
    assert master("local") == "local[1,4]"
    assert master("local[3]") == "local[3,4]"
    assert master("local[3,1]") == "local[3,1]"
    assert master("yarn") == "yarn"
    assert master("", submitted=True) is None


def test_settings_of_the_user_come_last() -> None:
    options = SessionOptions(conf={"spark.ui.enabled": "true", "spark.x": "1"})
    conf = session_conf(options, submitted=False)
    assert (conf["spark.ui.enabled"], conf["spark.x"]) == ("true", "1")
    assert (
        session_conf(SessionOptions(conf={"spark.master": "yarn"}), submitted=False)["spark.master"]
        == "yarn"
    )
    assert "spark.driver.host" not in session_conf(SessionOptions("yarn"), submitted=False)


def _java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch()
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


def test_java_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert java_version(_java(tmp_path / "8", "1.8.0_402")) == 8
    assert java_version(_java(tmp_path / "17", "17.0.9")) == 17
    assert java_version(tmp_path) == 0
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "8"))
    with pytest.raises(JobError, match=r"Spark needs Java 17 or newer, and .* is Java 8"):
        prepare_environment()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(JobError, match="and none is installed; install one, or set JAVA_HOME"):
        prepare_environment()


def test_the_environment_names_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "21", "21")))
    for name in ("SPARK_HOME", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    prepare_environment()
    import os

    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert (Path(os.environ["SPARK_HOME"]) / "bin" / "spark-submit").exists()
    prepare_environment("./environment/bin/python")
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"


def test_without_spark_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object) -> object:
        if name.startswith("pyspark"):
            raise ImportError(name)
        return real(name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with (
        pytest.raises(JobError, match="install nwx with the extra `spark`"),
        job_session(SessionOptions()),
    ):
        pass
    with pytest.raises(JobError, match="install nwx with the extra `spark`"):
        prepare_environment()


MISMATCH = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has \
different version: 3.10 than that in driver: 3.11, PySpark cannot run with different minor versions.
Please check environment variables PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON are correctly set.
"""
FAILED = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Traceback (most recent call last):
  File "x.py", line 9, in read
ValueError: earlier
During handling of the above exception, another exception occurred:
nwx.errors.{error}: {text}

	at org.apache.spark.Task.run(Task.scala:1)
"""


def test_failures_are_told_in_a_line() -> None:
    told = failure_message(MISMATCH)
    assert "a different version of Python: 3.10 there, 3.11 here" in told
    assert "--archives" in told
    assert failure_message(FAILED.format(error="JobError", text="the disk is full")) == (
        "the disk is full"
    )
    assert failure_message(FAILED.format(error="CdxError", text="bad")) == "CdxError: bad"
    missing = failure_message("x\nModuleNotFoundError: No module named 'nwx'\n")
    assert "the Python of the executors has no nwx; send this environment" in missing
    assert failure_message("\n[CANNOT_X] no\nmore") == "Spark failed: [CANNOT_X] no"
    assert failure_message("") == "Spark failed: no reason given"
