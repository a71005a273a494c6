"""Build the documentation site from docs/ and the documents of the root folder: `make docs-site`.

usage: .venv/bin/python scripts/build_site.py [FOLDER]        (default: .venv/site)

View it with `python3 -m http.server -d .venv/site`, or copy the folder to a web server.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "PRIVACY.md", "SECURITY.md")
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")


def main() -> None:
    """Build the site into a folder, which is replaced."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".venv" / "site").absolute()
    with tempfile.TemporaryDirectory() as folder:
        collect(Path(folder) / "docs")
        site = Path(folder) / "site"
        folders = 'docs_dir = "docs"\nsite_dir = "site"\n'
        settings = (ROOT / "zensical.toml").read_text().replace("[project]\n", f"[project]\n{folders}", 1)
        (Path(folder) / "zensical.toml").write_text(settings)
        command = [Path(sys.executable).parent / "zensical", "build", "--strict"]
        completed = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603  # fixed
        if completed.returncode != 0:
            sys.exit(f"{completed.stdout}{completed.stderr}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(site, target)
    print(target)


def collect(target: Path) -> None:
    """Copy all pages into one folder, with their links adapted."""
    shutil.copytree(ROOT / "docs", target)
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text()
        (target / name).write_text(_LINK.sub(lambda link: link[1].removeprefix("docs/"), text))
    (target / "adr" / "index.md").write_text(record_index(target / "adr"))
    for page in target.rglob("*.md"):
        text = page.read_text()
        page.write_text(_LINK.sub(lambda link: _in_site(link[1]), text))


def record_index(folder: Path) -> str:
    """Return the page that lists the architecture decision records of a folder."""
    records = sorted(folder.glob("[0-9]*.md"))
    links = [f"- [{page.read_text().partition(chr(10))[0].removeprefix('# ')}]({page.name})" for page in records]
    return "\n".join(["# Architecture decision records", "", *links, ""])


def _in_site(link: str) -> str:
    """Return a link to a document of the root folder as a link within the site."""
    before, up, name = link.rpartition("../")
    return before + name if up and name in ROOT_PAGES else link


def nav_pages() -> list[str]:
    """Return the paths of the pages in the navigation."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    return re.findall(r"'([\w/.-]+\.md)'", str(project["nav"]))


if __name__ == "__main__":
    main()
