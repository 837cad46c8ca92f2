# make demo   import the sample archive and serve it; PORT=8090 for another port
# make test   install what the tests need, then run lint and all tests
# make unit   run the fast tests: no server, no browser, no JDK
# make lint   check format, style, types and imports
# make format format the code
# make docs   write docs/commands.md from the commands' --help
# make messages bring new messages of pages into the catalogues, and compile these
# make crawlers download the crawlers that the tests run: Heritrix, warcprox, Scrapy
# make weight count lines, modules, words of documentation and repeated lines
# make lock   resolve the newest versions of all dependencies into requirements.lock
# make audit  look up known vulnerabilities of the locked versions
# make wheel  build the wheel in dist/
# make clean  delete the environment and everything that was built

# The first Python that is new enough. Each name is run, because some are shims that start nothing.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && \
  { echo $$python; break; }; done)
BIN := .venv/bin
# uv takes a fifth of pip's time, but does not read pip's settings; where it fails, pip installs.
INSTALL := install() { $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python "$$@" 2> /dev/null || \
  { $(BIN)/python -m pip install --quiet --upgrade pip && $(BIN)/python -m pip install --quiet "$$@"; }; }; install
PORT ?= 8080

.PHONY: demo install test compiled run-tests unit dev lint weight docs messages format packages elasticsearch crawlers lock audit wheel release clean

demo: install
	$(BIN)/nwx --engine demo import sample/archive
	@$(BIN)/nwx --engine demo serve --port $(PORT) || { code=$$?; \
	  [ $$code -ne 2 ] || echo "make demo PORT=8090 serves it at another port" >&2; exit $$code; }

install: .venv/installed

$(BIN)/uv:
	@test -n "$(PYTHON)" || \
	  { echo "nwx needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

.venv/installed: $(BIN)/uv pyproject.toml requirements.lock
	$(INSTALL) --constraint requirements.lock --editable .
	touch $@

dev: .venv/dev

.venv/dev: $(BIN)/uv pyproject.toml requirements.lock
	$(INSTALL) --constraint requirements.lock --editable '.[remote,browser,spark,sql,mcp,vectors,fields]' --group dev
	touch .venv/installed $@

test:
	@$(MAKE) --no-print-directory --jobs=3 compiled packages elasticsearch
	@$(MAKE) --no-print-directory --jobs=3 --keep-going lint crawlers run-tests

# Many processes load the modules: one compiles them, also where the environment has PYTHONDONTWRITEBYTECODE.
compiled: export PYTHONDONTWRITEBYTECODE =
compiled: dev
	$(BIN)/python -m compileall -q nwx webapp
	-@$(BIN)/python -m pytest --collect-only -qq tests/unit > /dev/null & \
	$(BIN)/python -m pytest --collect-only -qq --ignore tests/unit > /dev/null; wait

# Tests that need a crawler wait until it is there.
run-tests: export PYTHONDONTWRITEBYTECODE =
run-tests:
	$(BIN)/python -m pytest -n 4 --dist loadgroup --no-loadscope-reorder

unit: dev
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests/unit tests/properties

lint: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

weight:
	@$(PYTHON) -m benchmarks.weight

docs: dev
	$(BIN)/python -m tests.docs.commands > docs/commands.md

# Translations that are missing afterwards are empty in webapp/translations; run it again with them.
messages: dev
	mkdir -p .cache
	$(BIN)/pybabel -q extract --mapping babel.cfg --keyword lazy_gettext --keyword lazy_pgettext:1c,2 \
	  --keyword ErrorText --keyword translated --no-wrap --add-location file --omit-header \
	  --output-file .cache/messages.pot webapp nwx
	$(BIN)/pybabel -q update --input-file .cache/messages.pot --output-dir webapp/translations \
	  --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date --width 100
	$(BIN)/pybabel -q compile --directory webapp/translations

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Of Debian: Chromium for the tests of pages, Redis and Node (for ioredis, a client of Redis) for those of answers
# to crawlers. NWX_TEST_BROWSER and NWX_TEST_REDIS name others; other systems may have another Chromium, which takes longer.
packages:
	@set --; \
	browsers=chromium-headless-shell; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then may=1; \
	else may=; browsers="$$browsers chromium chromium-browser google-chrome"; fi; \
	found=$$NWX_TEST_BROWSER; for one in $$browsers; do ! command -v $$one > /dev/null || found=$$one; done; \
	test -n "$$found" || set -- "$$@" chromium-headless-shell fonts-liberation; \
	test -n "$$NWX_TEST_REDIS" || command -v redis-server > /dev/null || set -- "$$@" redis-server; \
	command -v npm > /dev/null || set -- "$$@" nodejs npm; \
	test $$# = 0 && exit; \
	if [ -n "$$may" ]; then \
	  apt-get update -qq; wanted="$$*"; \
	  apt-cache show chromium-headless-shell > /dev/null 2>&1 || wanted=$$(echo "$$wanted" | sed s/-headless-shell//); \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$wanted > /dev/null; \
	else echo "the tests need $$*: apt install $$*, or set NWX_TEST_BROWSER and NWX_TEST_REDIS" >&2; exit 1; fi

# NWX_TEST_ELASTICSEARCH and NWX_TEST_OPENSEARCH name running servers to use instead of starting some.
# They need no environment, and are made beside it.
elasticsearch:
	@test -n "$$NWX_TEST_ELASTICSEARCH" || $(PYTHON) -m tests.elasticsearch.server prepare
	@test -n "$$NWX_TEST_OPENSEARCH" || $(PYTHON) -m tests.elasticsearch.server prepare opensearch

# Real crawlers for the tests: Heritrix by Maven, warcprox and Scrapy from PyPI, kept in .cache.
crawlers: dev
	$(BIN)/python -m tests.environments
	$(BIN)/python -m tests.crawling.heritrix.distribution

# Versions for Python 3.11 and newer, on all systems.
lock: dev
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-header \
	  --extra remote --extra browser --extra spark --extra sql --extra mcp --extra vectors --extra fields --group dev pyproject.toml --output-file requirements.lock

audit: dev
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --requirement requirements.lock --no-deps --disable-pip --strict

wheel: dev
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# The wheel, a zipapp with all libraries, and the parts list (CycloneDX) of the pinned ones: the same bytes each time.
release: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct)
release: dev
	rm -rf dist
	$(MAKE) wheel
	$(INSTALL) --quiet shiv cyclonedx-bom
	$(BIN)/shiv --reproducible --constraint requirements.lock --console-script nwx \
	  --output-file dist/nwx.pyz dist/nwx-*.whl
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
	  --output-file dist/nwx.cdx.json requirements.lock
	cd dist && sha256sum nwx* > SHA256SUMS

clean:
	rm -rf .venv .cache build dist demo archive
