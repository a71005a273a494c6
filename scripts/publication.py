"""The lines of the documents that depend on the publication: how to install waypost, and where its repository is.

The settings are `repository` and `image` in the table `tool.waypost` of pyproject.toml. Both are empty until the first
release, and scripts/release.py refuses to release without a repository. `make docs` writes the parts between the marks
of each file, the image into the templates of catalogs, and the version into the package of YunoHost.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = "1.0.0"
"""The first release. Lines that need a package registry work from it on."""
_MARKED = re.compile(
    r"^(?P<start> *(?:<!--|#) install: (?P<name>[\w-]+)[^\n]*\n).*?(?P<end>^ *(?:<!--|#) end of install)", re.M | re.S
)
_IMAGE = re.compile(r"(?<=image: waypost:)\d\S*")
_YUNOHOST_VERSION = re.compile(r'(?<=^version = ")[^"~]+', re.M)
_CATALOG_IMAGE = re.compile(r"(?<=image: |sitory>)[^\s<]+")


@dataclass(frozen=True)
class Publication:
    """The version, the address of the repository, and the image in a registry: empty before the first release."""

    version: str
    repository: str
    image: str = ""

    @property
    def wheel(self) -> str:
        """The file name of the wheel."""
        return f"waypost-{self.version}-py3-none-any.whl"

    def registry(self, sentence: str) -> str:
        """Return a sentence about a package registry, with the remark that it is not true yet if that is so."""
        return sentence if self.repository else f"From release {FIRST} on: {sentence[0].lower()}{sentence[1:]}"

    def source(self, *commands: str) -> str:
        """Return a block of commands in the folder of the source, which begins with its download."""
        clone = [f"git clone {self.repository} waypost", "cd waypost"] if self.repository else []
        return _block(*clone, *commands)


def read(root: Path) -> Publication:
    """Return the publication of a source tree."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["waypost"]
    (version,) = re.findall(r'^__version__ = "(.+)"$', (root / "src/waypost/__init__.py").read_text(), re.M)
    return Publication(version, settings["repository"].rstrip("/"), settings["image"])


def files(root: Path, publication: Publication) -> dict[Path, str]:
    """Return the content of each file with marked parts."""
    names = ["README.md", "CONTRIBUTING.md", "pyproject.toml", "client/pyproject.toml", "deploy/Dockerfile"]
    names += ["charts/waypost/Chart.yaml", "charts/waypost/values.yaml"]
    pages = sorted((root / "docs").glob("*.md"))
    catalogs = sorted(path for path in (root / "catalogs").iterdir() if path.is_file())
    package = root / "catalogs" / "yunohost" / "manifest.toml"
    composed = sorted((root / "deploy").glob("compose.*.yaml"))
    paths = [*(root / name for name in names), *pages, *composed, *catalogs, package]
    written = {}
    for path in paths:
        text = path.read_text()
        new = _MARKED.sub(lambda mark: f"{mark['start']}{_PARTS[mark['name']](publication)}{mark['end']}", text)
        if path in catalogs:
            new = _CATALOG_IMAGE.sub(f"{publication.image or 'waypost'}:{publication.version}", new)
        elif path == package:
            new = _YUNOHOST_VERSION.sub(publication.version, new)
        elif path.suffix == ".yaml":
            new = _IMAGE.sub(publication.version, new)
        if _MARKED.search(text) or new != text:
            written[path] = new
    return written


def _block(*lines: str) -> str:
    return "\n".join(["```sh", *lines, "```", ""])


def _start(to: Publication) -> str:
    return f"""
With the source, Python 3.11 or newer, make and git, on Linux:

{to.source("make run")}
To look around first, `make demo` serves sample links with 60 days of visits from a temporary folder.

On a machine without the source, Node or a compiler: `make wheel` writes `dist/{to.wheel}`.
Copy it into an empty folder of that machine; the data will be in `./data`:

{_block("python3 -m venv .venv", f".venv/bin/pip install ./{to.wheel}", ".venv/bin/waypost serve")}
With Docker, in the folder of the source, behind Caddy, which obtains certificates for your name and branded domains:

{_block(*_SITE, _COMPOSE)}
{to.registry("`uvx waypost serve`, or `pip install waypost`, needs no source. `uvx waypost demo` serves sample links.")}

"""


_SITE = (
    "install -m 0600 deploy/.env.example deploy/.env",
    "sed -i 's/^WAYPOST_SITE=.*/WAYPOST_SITE=go.example.com/' deploy/.env",
)
_COMPOSE = "docker compose -f deploy/compose.one.yaml up -d --build"


def _home(to: Publication) -> str:
    return f"""
With the source, Python 3.11 or newer, make and git, on Linux:

{to.source("make run    # or, for sample links with 60 days of visits in a temporary folder: make demo")}
[systemd](systemd.md) installs the wheel that `make wheel` builds, and [Containers](containers.md) the image.

{to.registry("`uvx waypost serve` starts an installation in `./data`, `uvx waypost demo` the sample links.")}

"""


def _systemd(to: Publication) -> str:
    return f"""
{to.source("make wheel")}
Install the wheel into a folder of its own, and write the unit, as root:

{
        _block(
            "python3 -m venv /opt/waypost/.venv",
            f"/opt/waypost/.venv/bin/pip install dist/{to.wheel}",
            "/opt/waypost/.venv/bin/waypost deploy-files /opt/waypost/deploy",
            "cp /opt/waypost/deploy/waypost.service /etc/systemd/system/",
        )
    }
{to.registry("`/opt/waypost/.venv/bin/pip install waypost` in the second line needs no source and no wheel.")}

"""


def _containers(to: Publication) -> str:
    return f"""
The folder `deploy/` of the source has a container image and two compose files. The image is built from the source, so
run all commands of this page in its folder.

{to.source() if to.repository else ""}{_block(*_SITE)}
`deploy/.env` has the values that the compose files need. Every command of compose reads it, also in another shell.

"""


def _upgrade(to: Publication) -> str:
    rows = [
        ("source", "`git pull`, then `make run` or `make install`"),
        ("wheel", "`make wheel`, then `pip install --upgrade dist/waypost-….whl` with the pip of the installation"),
        ("compose", f"`git pull`, then `{_COMPOSE}`"),
    ]
    released = [("pip", "`pip install --upgrade waypost`"), ("uvx", "`uvx waypost@latest serve`")]
    remark = "" if to.repository else f", from release {FIRST} on"
    rows += [(f"{name}{remark}", command) for name, command in released]
    table = [("Installed with", "Command"), ("---", "---"), *rows]
    return "\n" + "".join(f"    | {name} | {command} |\n" for name, command in table) + "\n"


def _extra(name: str) -> Callable[[Publication], str]:
    def write(to: Publication) -> str:
        return f"""
In the folder of the source, and where the wheel is installed:

{
            _block(
                f".tools/bin/uv sync --frozen --no-dev --extra {name}   # the source",
                f".venv/bin/pip install './{to.wheel}[{name}]'   # the wheel",
            ).replace("```sh", "```bash")
        }
The container image contains the extra. {to.registry(f"`pip install 'waypost[{name}]'` installs it.")}

"""

    return write


def _remote(to: Publication) -> str:
    return f"""
In the folder of the source, this installs it into an environment of its own:

{_block("python3 -m venv .venv-client", ".venv-client/bin/pip install './client[cli]'")}
`make wheel` builds its wheel too, for machines without the source.
{to.registry("`pip install 'waypost-client[cli]'` installs it without the source.")}

"""


def _client(to: Publication) -> str:
    return f"""
`pip install ./client` in the folder of the source installs it, and `make wheel` builds its wheel.
{to.registry("`pip install waypost-client` installs it without the source.")}

"""


def _issues(to: Publication) -> str:
    at = f"at <{to.repository}/issues>" if to.repository else f"in the repository that release {FIRST} names"
    return f"\nReport faults and propose changes {at}. Report vulnerabilities as [SECURITY.md](SECURITY.md) says.\n\n"


def _urls(to: Publication) -> str:
    if not to.repository:
        return ""
    pages = {"Repository": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md", "Documentation": "#readme"}
    return "[project.urls]\n" + "".join(f'{name} = "{to.repository}{path}"\n' for name, path in pages.items())


def _labels(to: Publication) -> str:
    labels = {
        "title": "waypost",
        "description": "Short links, file sharing and QR codes with exact click statistics",
        "licenses": "MIT",
        "version": to.version,
        **({"source": to.repository} if to.repository else {}),
    }
    lines = [f'org.opencontainers.image.{name}="{value}"' for name, value in labels.items()]
    return "LABEL " + " \\\n    ".join(lines) + "\n"


def _chart(to: Publication) -> str:
    return f'version: {to.version}\nappVersion: "{to.version}"\n'


_PARTS: Mapping[str, Callable[[Publication], str]] = {
    "start": _start,
    "home": _home,
    "systemd": _systemd,
    "containers": _containers,
    "upgrade": _upgrade,
    "mcp": _extra("mcp"),
    "otel": _extra("otel"),
    "remote": _remote,
    "client": _client,
    "issues": _issues,
    "urls": _urls,
    "labels": _labels,
    "chart": _chart,
}
"""The marked parts, by name."""
