"""A package index with the files of uv.lock alone: pip reads its pages in a tenth of the time."""

import re
import tomllib
from collections import defaultdict
from pathlib import Path

from tests.support.source import ROOT


def locked_index(folder: Path) -> str:
    """Write the index; return its URL for `PIP_INDEX_URL`. The files themselves come from the registry."""
    pages = defaultdict[str, list[str]](list)
    for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]:
        for file in (*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())):
            address = f"{file['url']}#{file['hash'].replace(':', '=')}"
            pages[re.sub(r"[-_.]+", "-", package["name"]).lower()].append(
                f'<a href="{address}">{file["url"].rpartition("/")[2]}</a>'
            )
    for name, links in pages.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "index.html").write_text("<!DOCTYPE html>\n" + "\n".join(links))
    return folder.as_uri()
