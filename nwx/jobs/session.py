"""The Spark session of a job: the active one, or a new one."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from nwx.errors import JobError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
_LOCAL_MASTER = "local[*]"
_ATTEMPTS = 4
_MASTER, _PYTHON = "spark.master", "spark.pyspark.python"
_LOCAL = re.compile(r"local(?:\[(\*|\d+)\])?")
_DEFAULTS = {
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_LOCAL_DEFAULTS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}
_JAVA_VERSION = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_PYTHON_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
_VERSIONS = re.compile(r"different version: ([\d., ]*\d) than that in driver:? ([\d., ]*\d)")


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Where a job runs.

    Without `master`, the cluster given to spark-submit, else this machine. `conf` has Spark
    settings by name.
    """

    master: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    name: str = "nwx"


@contextmanager
def job_session(options: SessionOptions) -> Iterator["SparkSession"]:
    """Yield a Spark session: the active one, left running, or a new one, stopped at the end.

    Raises JobError if Spark cannot start or fails inside the block.
    """
    check_installed()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        with spark_failures():
            yield active
        return
    from py4j.protocol import Py4JError

    with spark_failures():
        session = _started(options)
        try:
            yield session
        finally:
            with suppress(Py4JError, OSError):  # if Java has ended, the job has failed already
                session.stop()


def check_installed() -> None:
    """Raise JobError if PySpark, or a dependency of it, is not installed."""
    try:
        import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise JobError("jobs need Spark; install nwx with the extra `spark`") from error


def _started(options: SessionOptions) -> "SparkSession":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(options.name)
    for name, value in session_conf(options, submitted=is_submitted()).items():
        builder = builder.config(name, value)
    if is_submitted():
        return builder.getOrCreate()
    prepare_environment(options.conf.get(_PYTHON, ""))
    if "spark.log.level" in options.conf:
        return builder.getOrCreate()
    with _quiet_start():
        return builder.getOrCreate()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Suppress the standard error output of a new JVM; its errors still reach this process.

    If it does not start, the JobError holds its last output.
    """
    from pyspark.errors import PySparkException

    with TemporaryFile() as log:
        before = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except PySparkException as error:
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip().splitlines()
            raise JobError(f"Spark does not start: {said[-1] if said else error}") from error
        finally:
            os.dup2(before, 2)
            os.close(before)


def is_submitted() -> bool:
    """Return whether this process was started by spark-submit, which provides a cluster."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def session_conf(options: SessionOptions, *, submitted: bool) -> dict[str, str]:
    """Return the Spark settings of a new session.

    A task of a local master is retried as often as on a cluster, so that a file that kills its
    reader does not end the job.
    """
    master = options.master or options.conf.get(_MASTER, "" if submitted else _LOCAL_MASTER)
    if found := _LOCAL.fullmatch(master):
        master = f"local[{found[1] or 1},{_ATTEMPTS}]"
    is_local = master.startswith("local")
    conf = {**_DEFAULTS, **(_LOCAL_DEFAULTS if is_local else {}), **options.conf}
    return {**conf, _MASTER: master} if master else conf


def prepare_environment(python: str = "") -> None:
    """Set Spark's environment variables for its folder and this Python, unless set.

    `python` is the executors' interpreter, which a session only reads from a variable. Raises
    JobError if Spark is not installed or no Java is new enough.
    """
    check_installed()
    import pyspark

    _check_java()
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if python:
        os.environ["PYSPARK_PYTHON"] = python


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise JobError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and none is installed; "
            "install one, or set JAVA_HOME"
        )
    version = java_version(Path(java).resolve().parent.parent)
    if version and version < OLDEST_JAVA:
        raise JobError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {version}; "
            "set JAVA_HOME to a newer one"
        )


def java_version(home: Path) -> int:
    """Return the version of the Java in a folder, 0 if unknown."""
    try:
        found = _JAVA_VERSION.search((home / "release").read_text(encoding="utf-8"))
    except OSError:
        return 0
    return int(found[1]) if found else 0


@contextmanager
def spark_failures() -> Iterator[None]:
    """Convert Spark exceptions in the block to a JobError with a one-line message."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobError(failure_message(str(error))) from error


def failure_message(text: str) -> str:
    """Return in one line why Spark failed; `text` may contain Java and Python tracebacks.

    Errors of executors reach the driver as text only.
    """
    if "[PYTHON_VERSION_MISMATCH]" in text:
        return _version_message(text)
    if missing := _MISSING_MODULE.search(text):
        return (
            f"the Python of the executors has no {missing[1]}; send this environment with "
            "--archives, and name its Python with --conf spark.pyspark.python=…"
        )
    raised = _PYTHON_ERROR.findall(text)
    if raised:
        name, message = raised[-1]
        return str(message) if name == "JobError" else f"{name}: {message}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"Spark failed: {lines[0] if lines else 'no reason given'}"


def _version_message(text: str) -> str:
    found = _VERSIONS.search(text.replace("(", "").replace(")", "").replace("'", ""))
    told = f": {found[1]} there, {found[2]} here" if found else ""
    return (
        f"the executors run a different version of Python{told}; "
        "name the same one with --conf spark.pyspark.python=…, or send this environment with "
        "--archives"
    )
