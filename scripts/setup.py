"""Makes .venv with everything that waypost needs, from the registry that this machine uses, with nothing but Python.

usage: python3 scripts/setup.py UV [--dev]

UV is the uv program. When it is missing it is put into .tools: by pip, or without pip straight from the registry.
Where uv cannot reach the registry, venv and pip do the work.
"""

import configparser
import hashlib
import html
import os
import platform
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".tools"


def main() -> int:
    """Set up; 0 when .venv is ready."""
    if sys.version_info < (3, 11):  # noqa: UP036  # somebody may start it with an older one
        print(f"waypost needs Python 3.11 or newer; this is {platform.python_version()}.", file=sys.stderr)
        return 1
    uv, dev = sys.argv[1], "--dev" in sys.argv[2:]
    os.chdir(ROOT)
    if not with_uv(uv, dev):
        print("uv could not set up; trying venv and pip.", file=sys.stderr)
        if not with_pip(dev):
            return 1
    # Else every start would compile a thousand modules, where nobody may write beside them: seconds.
    unused = "/(tests|mypy|mypyc)/"  # other people's tests, and what is machine code already
    run(".venv/bin/python", "-m", "compileall", "-qq", "-j", "0", "-x", unused, ".venv/lib", "src")
    return 0


def with_uv(uv: str, dev: bool) -> bool:  # noqa: FBT001  # a script of its own, called once
    """Make .venv by uv, which is fetched if need be."""
    return (Path(uv).exists() or get_uv()) and run(uv, "sync", "--frozen", "--quiet", *([] if dev else ["--no-dev"]))


def get_uv() -> bool:
    """Put uv into .tools; whether it is there now."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(TOOLS))
    if run(sys.executable, "-c", "import pip", quiet=True) and run(*pip, "--upgrade", "uv"):
        return True
    try:
        unpack_uv()
    except (OSError, LookupError, ValueError) as error:
        print(f"uv could not be fetched: {error}", file=sys.stderr)
        return False
    return True


def unpack_uv() -> None:
    """Fetch uv's newest wheel for this machine from the registry, check its hash and unpack it."""
    index = registry().rstrip("/") + "/uv/"
    with urllib.request.urlopen(index, timeout=60) as page:  # noqa: S310  # the registry of this machine
        links = re.findall(r'href="([^"]+\.whl[^"]*)"', page.read().decode())
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    system = {"linux": "manylinux", "darwin": "macosx"}.get(sys.platform, sys.platform)
    fitting = [link for link in links if machine in link and system in link]
    if not fitting:
        raise LookupError(f"there is no uv for {system} on {machine}")
    address, _, fragment = urllib.parse.urljoin(index, html.unescape(fitting[-1])).partition("#")
    with urllib.request.urlopen(address, timeout=300) as answer:  # noqa: S310  # as above
        wheel = answer.read()
    wanted = fragment.removeprefix("sha256=")
    if hashlib.sha256(wheel).hexdigest() != wanted:
        raise ValueError(f"{address} does not have the hash that the registry names")
    with zipfile.ZipFile(BytesIO(wheel)) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/scripts/uv"))
        target = TOOLS / "bin" / "uv"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
        target.chmod(0o755)


def registry() -> str:
    """The package registry that this machine is told to use, else PyPI."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name]
    config = configparser.ConfigParser(interpolation=None)
    config.read(["/etc/pip.conf", Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"])
    return config.get("global", "index-url", fallback="https://pypi.org/simple")


def with_pip(dev: bool) -> bool:  # noqa: FBT001  # a script of its own, called once
    """Make .venv by the standard library's venv and pip, at the versions of the lock file."""
    import tomllib  # noqa: PLC0415  # not there before 3.11, and main() must be able to say so

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locked = {p["name"]: p["version"] for p in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    constraints = ROOT / ".venv-constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in locked.items() if name != "waypost"))
    extra = project["dependency-groups"]["dev"] if dev else []
    try:
        return run(sys.executable, "-m", "venv", ".venv") and run(
            ".venv/bin/pip", "install", "--quiet", "-c", str(constraints), "-e", ".", *extra
        )
    finally:
        constraints.unlink()


def run(*command: str, quiet: bool = False) -> bool:
    """Whether a command succeeds."""
    return subprocess.run(command, check=False, capture_output=quiet).returncode == 0  # noqa: S603  # our own words


if __name__ == "__main__":
    sys.exit(main())
