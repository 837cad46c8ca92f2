"""The files of an OpenSearch, with the token filter that it lacks."""

import os
from pathlib import Path

from tests.elasticsearch import downloads
from tests.elasticsearch.jdk import find_jdk
from tests.elasticsearch.product import Product

VERSION = os.environ.get("NWX_TEST_OPENSEARCH_VERSION", "3.0.0")
CACHE = downloads.CACHE / "opensearch"
PLUGIN_SOURCE = Path(__file__).parent / "plugin" / "AsciiFoldingPlugin.java"
_GROUP = "org.opensearch.distribution.integ-test-zip"
_OLD = VERSION.startswith(("1.", "2."))
_RELEASE = 17 if _OLD else 21
_NEWEST = 23 if _OLD else None
"""The last JDK with the security manager that OpenSearch 2 needs."""


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of a server that is ready to run, made below `cache` if missing."""
    return downloads.prepared(cache, _GROUP, "opensearch", VERSION, _add_plugin)


def _find_jdk() -> Path:
    return find_jdk(_RELEASE, _NEWEST)


def _add_plugin(home: Path) -> None:
    plugin = downloads.add_jar(home, _find_jdk(), _RELEASE, PLUGIN_SOURCE)
    (plugin / "plugin-descriptor.properties").write_text(
        "name=nwx-analysis\ndescription=the token filter asciifolding\nversion=1\n"
        f"opensearch.version={VERSION}\njava.version={_RELEASE}\n"
        "classname=nwx.AsciiFoldingPlugin\n",
        encoding="utf-8",
    )


OPENSEARCH = Product("opensearch", "OPENSEARCH", prepare, _find_jdk, "node.portsfile: true\n")
