# make run     sets everything up and starts the service on http://localhost:8000
# make test    sets everything up and runs every test
# make check   the gate before a commit: format, lint, types, import rule, tests
# make install only sets up, and leaves .venv/bin/waypost
# Needs python3 (3.11 or newer), make and git. Touches nothing outside this folder.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
BIN := .venv/bin
# What the dashboard's front end is built from; setting up builds it, where it has changed.
WEB := $(shell find web -name node_modules -prune -o -type f -print) scripts/build_web.py
export UV_PYTHON_PREFERENCE := only-system

.PHONY: run test check install migration docs bench clean

run: .venv/.run
	@exec $(BIN)/waypost serve

install: .venv/.run

test: .venv/.dev
	$(BIN)/pytest

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

# make migration m="what changes": writes the next migration from the difference between schema and migrations
migration: .venv/.dev
	rm -f .venv/migration.db
	$(BIN)/alembic upgrade head
	$(BIN)/alembic revision --autogenerate --rev-id "$$(printf '%04d' $$(( $$(ls src/waypost/db/migrations/versions/[0-9]*.py | wc -l) + 1 )))" -m "$(m)"

# make docs: writes the parts of docs/ and README.md that come from the code
docs: .venv/.dev
	$(BIN)/python scripts/reference.py

bench: .venv/.dev
	$(BIN)/python -m bench.api

clean:
	rm -rf .venv .tools

.venv/.run: pyproject.toml uv.lock $(WEB)
	@$(PYTHON) scripts/setup.py $(UV)
	@touch $@

.venv/.dev: pyproject.toml uv.lock $(WEB)
	@$(PYTHON) scripts/setup.py $(UV) --dev
	@touch $@ .venv/.run
