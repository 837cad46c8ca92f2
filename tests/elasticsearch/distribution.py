"""The files of an Elasticsearch, plus the token filters that it lacks."""

import json
from pathlib import Path

from tests.elasticsearch import downloads
from tests.elasticsearch.jdk import find_jdk
from tests.elasticsearch.product import Product

VERSION = "9.2.0"
CACHE = downloads.CACHE / "elasticsearch"
PLUGIN_SOURCE = Path(__file__).parent / "plugin" / "TextFilters.java"
_SERVER = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{VERSION}:zip"


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of a server ready to run, created below `cache` if missing."""
    return downloads.prepared(cache, _SERVER, PLUGIN_SOURCE, _add_plugin)


def _add_plugin(home: Path, _: Path) -> None:
    plugin = downloads.add_jar(home, find_jdk(), 21, PLUGIN_SOURCE)
    names = {"asciifolding": "AsciiFolding", "elision": "Elision", "stemmer": "Stemmer"}
    classes = {name: f"nwx.TextFilters${found}" for name, found in names.items()}
    components = {"org.elasticsearch.plugin.analysis.TokenFilterFactory": classes}
    (plugin / "named_components.json").write_text(json.dumps(components), encoding="utf-8")
    (plugin / "stable-plugin-descriptor.properties").write_text(
        "name=nwx-analysis\ndescription=token filters\nversion=1\n"
        f"elasticsearch.version={VERSION}\njava.version=21\n",
        encoding="utf-8",
    )


ELASTICSEARCH = Product(
    "elasticsearch",
    "ES",
    prepare,
    find_jdk,
    # This allocation makes a new index in two updates of the cluster's state instead of three.
    "xpack.security.enabled: false\nnode.portsfile: true\n"
    "cluster.routing.allocation.type: balanced\n",
)
