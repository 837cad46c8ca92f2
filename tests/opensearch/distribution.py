"""The files of an OpenSearch, plus the token filters and scripts that it lacks."""

import os
import shutil
from pathlib import Path

from tests.elasticsearch import downloads
from tests.elasticsearch.jdk import find_jdk
from tests.elasticsearch.product import Product

VERSION = os.environ.get("NWX_TEST_OPENSEARCH_VERSION", "3.0.0")
CACHE = downloads.CACHE / "opensearch"
PLUGIN_SOURCE = Path(__file__).parent / "plugin" / "TextFiltersPlugin.java"
_DESCRIPTOR = "plugin-descriptor.properties"
_SERVER = f"org.opensearch.distribution.integ-test-zip:opensearch:{VERSION}:zip"
_PAINLESS = (
    f"org.opensearch.plugin:lang-painless:{VERSION}",
    f"org.opensearch.plugin:opensearch-scripting-painless-spi:{VERSION}",
    "org.antlr:antlr4-runtime:4.13.1",
    *(f"org.ow2.asm:{name}:9.7" for name in ("asm", "asm-analysis", "asm-commons")),
    *(f"org.ow2.asm:{name}:9.7" for name in ("asm-tree", "asm-util")),
)
"""The scripting language, part of the full distribution, and its dependencies."""

_MODULE = "modules/lang-painless"
_OLD = VERSION.startswith(("1.", "2."))
_RELEASE = 17 if _OLD else 21
_NEWEST = 23 if _OLD else None
"""The last JDK with the security manager, which OpenSearch 2 needs."""


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of a server ready to run, created below `cache` if missing."""
    return downloads.prepared(
        cache, _SERVER, PLUGIN_SOURCE, _add_parts, _PAINLESS, f"{_MODULE}/{_DESCRIPTOR}"
    )


def _find_jdk() -> Path:
    return find_jdk(_RELEASE, _NEWEST)


def _add_parts(home: Path, parts: Path) -> None:
    _add_plugin(home)
    _add_painless(home, parts)


def _add_painless(home: Path, parts: Path) -> None:
    module = home / _MODULE
    module.mkdir(mode=0o755)
    for jar in parts.glob("*.jar"):
        shutil.copyfile(jar, module / jar.name)
        (module / jar.name).chmod(0o644)  # the server may run as a different user
    _describe(module, "lang-painless", "org.opensearch.painless.PainlessModulePlugin")


def _add_plugin(home: Path) -> None:
    plugin = downloads.add_jar(home, _find_jdk(), _RELEASE, PLUGIN_SOURCE)
    _describe(plugin, "nwx-analysis", "nwx.TextFiltersPlugin")


def _describe(folder: Path, name: str, plugin: str) -> None:
    (folder / _DESCRIPTOR).write_text(
        f"name={name}\ndescription={name}\nversion={VERSION}\nclassname={plugin}\n"
        f"opensearch.version={VERSION}\njava.version={_RELEASE}\n",
        encoding="utf-8",
    )


OPENSEARCH = Product("opensearch", "OPENSEARCH", prepare, _find_jdk, "node.portsfile: true\n")
