"""Build the documentation site from docs/ and the documents of the root folder: `make docs-site`.

usage: .venv/bin/python -m scripts.build_site [FOLDER]       (default: .venv/site)

The pages go to FOLDER/1.0/, where 1.0 is the version of waypost. Other versions in FOLDER are kept, and every page has
a menu of all versions. View the site with `python3 -m http.server -d .venv/site`, or copy the folder to a web server.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from scripts import publication
from waypost import __version__

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "PRIVACY.md", "SECURITY.md")
_START_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>waypost</title>
<meta http-equiv="refresh" content="0; url={version}/">
<p><a href="{version}/">Documentation of waypost</a></p>
"""
RECORDS = ("mcp-session/", "decisions/", "adr/", "CHANGELOG/", "performance/")
_ALL_WORDS, _ANY_WORD = '(n,"and",', '(n,"or",'  # the rule for several words, in the worker of the search
_VERSION = re.compile(r"\d+\.\d+")
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")


def main() -> None:
    """Build the site of this version into a folder."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".venv" / "site").absolute()
    version = minor_version()
    with tempfile.TemporaryDirectory() as folder:
        collect(Path(folder) / "docs")
        site = Path(folder) / "site"
        (Path(folder) / "zensical.toml").write_text(project_settings(publication.read(ROOT)))
        command = [Path(sys.executable).parent / "zensical", "build", "--strict"]
        completed = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603  # fixed
        if completed.returncode != 0:
            sys.exit(f"{completed.stdout}{completed.stderr}")
        rank_guides_first(site / "search.json")
        match_any_word(site)
        shutil.rmtree(target / version, ignore_errors=True)
        shutil.copytree(site, target / version)
    list_versions(target)
    print(target)


def rank_guides_first(index: Path) -> None:
    """Move transcripts and records of decisions to the end of the search index, with only their titles."""
    search = json.loads(index.read_text(encoding="utf-8"))
    guides = [item for item in search["items"] if not item["location"].startswith(RECORDS)]
    records = [item | {"text": ""} for item in search["items"] if item["location"].startswith(RECORDS)]
    search["items"] = guides + records
    index.write_text(json.dumps(search), encoding="utf-8")


def match_any_word(site: Path) -> None:
    """Let the search find pages with some of the words: those with most words come first. zensical has no setting."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    script = worker.read_text()
    if script.count(_ALL_WORDS) != 1:
        sys.exit("The search of this version of zensical is unknown: adapt match_any_word.")
    worker.write_text(script.replace(_ALL_WORDS, _ANY_WORD))


def project_settings(published: publication.Publication) -> str:
    """Return zensical.toml with the folders, and with the repository of a release."""
    more = 'docs_dir = "docs"\nsite_dir = "site"\n'
    more += f"repo_url = {json.dumps(published.repository)}\n" if published.repository else ""
    return (ROOT / "zensical.toml").read_text().replace("[project]\n", f"[project]\n{more}", 1)


def minor_version() -> str:
    """Return the version of waypost without its last part, such as `1.0`."""
    return ".".join(__version__.split(".")[:2])


def list_versions(target: Path) -> None:
    """Write the list for the menu of versions, newest first, and a start page that opens the newest."""
    versions = [path.name for path in target.iterdir() if _VERSION.fullmatch(path.name)]
    versions.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    entries = [{"version": name, "title": name, "aliases": []} for name in versions]
    (target / "versions.json").write_text(json.dumps(entries))
    (target / "index.html").write_text(_START_PAGE.format(version=versions[0]))


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
