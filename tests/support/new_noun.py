"""A copy of the service with a throw-away noun, made by the steps of CONTRIBUTING, "Adding a noun"."""

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from filecmp import dircmp
from pathlib import Path

from tests.support.source import ROOT

_OPTIONS = (
    *("-o", "addopts=", "--disable-plugin-autoload", "-p", "pytest_timeout", "-p", "no:cacheprovider"),
    *("-q", "--tb=short"),
)
_LARGE = ("locales", "static")
_DATA = ROOT / "tests/data/badges"
TABLE, NOUN, FUNCTIONS, ROUTER, PAGES = "table", "NOUNS", "FUNCTIONS", "API_ROUTERS", "DASHBOARD_PAGES"
"""The rows that a noun has in shared modules."""
_ROWS: Mapping[str, tuple[str, str, str]] = {
    TABLE: (
        "db/schema/resources.py",
        "pixels = owned(\n",
        """badges = owned(
    "badges",
    Column("name", Text, nullable=False, doc="Name."),
    string("color", "#000000", doc="Color."),
)

""",
    ),
    NOUN: (
        "db/schema/nouns.py",
        '        Noun(\n            kind="domain",\n',
        """        Noun(
            kind="badge",
            table=badges,
            api="badge",
            collection="badges",
            dashboard="badges",
            icon="tag",
            label="Badge",
            labels="Badges",
            new_label="New badge",
            keywords="create",
            sheet="badges",
            same=("name", "color"),
        ),
""",
    ),
    FUNCTIONS: (
        "items/functions.py",
        '    "domain": NounFunctions(\n',
        """    "badge": NounFunctions(
        remove=badges.remove,
        list_items=badges_api.list_badges,
        model=badges_api.NewBadge,
        add=_by(badges.add),
    ),
""",
    ),
    ROUTER: ("server/routers.py", "    domains_router,\n", "    badges_router,\n"),
    PAGES: ("server/routers.py", "    *domains_pages.routes,\n", "    *badges_pages.routes,\n"),
}
"""Each with its module, the line that comes after it, and its text."""
_IMPORTS: Mapping[str, tuple[str, str]] = {
    "db/schema/nouns.py": (
        "from waypost.db.schema.resources import (\n",
        "from waypost.db.schema.resources import badges\n",
    ),
    "items/functions.py": (
        "from waypost.items.bios import api as bios_api\n",
        "from waypost.items.badges import api as badges_api\nfrom waypost.items.badges import ops as badges\n",
    ),
    "server/routers.py": (
        "from waypost.items.bios.api import router as bios_router\n",
        """from waypost.items.badges.api import router as badges_router
from waypost.items.badges.pages import pages as badges_pages
""",
    ),
}
MODULES = sorted({module for module, _, _ in _ROWS.values()})
"""The modules of the service that all nouns share and that a new one changes."""
_RESOURCE = """
RESOURCES = (
    *RESOURCES,
    Resource(
        noun="badge",
        list_path="/badges",
        collection="badges",
        path="/badge",
        new={"name": "Badge {n}", "color": "#12ab34"},
        required=("name",),
        item={"id": int, "name": str, "color": shapes.COLOUR, "date": shapes.TIMESTAMP},
        update={"name": "Renamed"},
        cleared={"color": "#000000"},
        invalid={"name": NOT_NAME, "color": NOT_COLOUR},
    ),
)
"""


def add_badges(folder: Path, *, without: Collection[str] = ()) -> list[str]:
    """Copy the service and its tests to a folder, and add the noun. Return the files that differ from the service's.

    `without` are the rows to leave out.
    """
    package = folder / "src/waypost"
    # Compiled modules are copied too: with the times of their sources they stay valid.
    shutil.copytree(ROOT / "src/waypost", package, ignore=shutil.ignore_patterns(*_LARGE))
    for path in (ROOT / "src/waypost").glob("*/*"):
        if path.name in _LARGE:
            (package / path.relative_to(ROOT / "src/waypost")).symlink_to(path)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("java", "npm", "releases"))
    for name in ("pyproject.toml", "web"):
        (folder / name).symlink_to(ROOT / name)
    _add_files(package)
    for row, (module, before, text) in _ROWS.items():
        if row not in without:
            _insert(package / module, before, text)
    for module, (before, text) in _IMPORTS.items():
        _insert(package / module, before, text)
    resources = folder / "tests/contract/resources.py"
    resources.write_text(resources.read_text() + _RESOURCE)
    return sorted(_different(dircmp(ROOT / "src/waypost", package, ignore=["__pycache__"])))


def run_tests(folder: Path, *names: str, expression: str = "") -> subprocess.CompletedProcess[str]:
    """Run tests of the copy in a process of their own; return its output."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    options = [*_OPTIONS, "-k", expression]
    command = [sys.executable, "-m", "pytest", *options, *names]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def _add_files(package: Path) -> None:
    versions = package / "db/migrations/versions"
    previous = max(path.name.partition("_")[0] for path in versions.glob("[0-9]*.py"))
    revision = f"{int(previous) + 1:04}"
    text = (_DATA / "migration.py.txt").read_text().format(revision=revision, previous=previous)
    (versions / f"{revision}_badges.py").write_text(text)
    (package / "items/badges").mkdir()
    (package / "items/badges/__init__.py").touch()
    for name in ("ops", "api", "pages"):
        shutil.copy(_DATA / f"{name}.py.txt", package / f"items/badges/{name}.py")
    shutil.copytree(_DATA / "templates", package / "dashboard/templates/badges")


def _insert(path: Path, before: str, text: str) -> None:
    content = path.read_text()
    assert content.count(before) == 1, (path, before)
    path.write_text(content.replace(before, text + before))


def _different(compared: "dircmp[str]") -> list[str]:
    """Return the files that only the second folder has, or that differ."""
    own = [Path(compared.right, name) for name in compared.diff_files]
    for name in compared.right_only:
        path = Path(compared.right, name)
        own += [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    below = [path for folder in compared.subdirs.values() for path in _different(folder)]
    return [*map(str, own), *below]
