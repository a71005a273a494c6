"""Large pictures as logos: the memory that they need is bounded, however many are sent at the same time."""

import subprocess
import sys
from io import BytesIO

import pytest
from PIL import Image

from tests.support.qr_decoders import png
from waypost.core.errors import Problem
from waypost.core.sandbox.process import Limits
from waypost.items.qr.service import own_copy
from waypost.media.pictures import decoding
from waypost.media.pictures.unpacking import MAX_SIDE

_MAX_GROWTH_MB = 64
_PICTURES = 6  # without a bound they need 1.2 GB
_ORIENTATION = 0x0112

# A process of its own, whose peak is reset: it is not that of other tests or of the process that started it.
_PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from waypost.items.qr.service import own_copy

def memory(name):
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if name in line)

picture = sys.stdin.buffer.read()
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS:")
with ThreadPoolExecutor(int(sys.argv[1])) as threads:
    sizes = {len(copy) for copy in threads.map(own_copy, [picture] * int(sys.argv[1]))}
assert len(sizes) == 1
print((memory("VmHWM:") - before) // 1024)
"""


def _picture(mode: str, kind: str, **options: object) -> bytes:
    out = BytesIO()
    color = (90, 0, 0, 255) if mode == "RGBA" else 90
    Image.new(mode, (MAX_SIDE, MAX_SIDE), color).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("mode", "kind", "options"),
    [("RGBA", "PNG", {}), ("P", "PNG", {}), ("RGB", "JPEG", {}), ("RGB", "JPEG", {"progressive": True})],
    ids=["png", "palette", "jpeg", "progressive"],
)
def test_many_large_logos_need_bounded_memory(mode: str, kind: str, options: dict[str, object]) -> None:
    picture = _picture(mode, kind, **options)
    command = [sys.executable, "-c", _PROGRAM, str(_PICTURES)]
    done = subprocess.run(command, input=picture, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) < _MAX_GROWTH_MB


def test_picture_over_limit_of_memory_is_rejected_and_next_one_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "_LIMITS", Limits(memory=48 << 20))
    decoding._child.cache_clear()
    with pytest.raises(Problem, match="takes too much memory or time") as caught:
        own_copy(_picture("RGBA", "PNG"))
    assert caught.value.field == "logo"
    assert own_copy(png())
    decoding._child.cache_clear()


def test_jpeg_with_many_scans_is_rejected() -> None:
    picture = _picture("RGB", "JPEG", progressive=True)
    start = picture.rindex(b"\xff\xda")
    with pytest.raises(Problem, match="at most 100 scans"):
        own_copy(picture[:start] + picture[start:-2] * 500 + b"\xff\xd9")


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_large_rotated_logo_is_upright(kind: str) -> None:
    image = Image.new("RGB", (3000, 1500), (200, 0, 0))
    image.paste((0, 0, 200), (0, 0, 1500, 1500))
    exif = Image.Exif()
    exif[_ORIENTATION] = 6  # rotate by 90 degrees clockwise
    out = BytesIO()
    image.save(out, kind, exif=exif)
    copy = Image.open(BytesIO(own_copy(out.getvalue()))).convert("RGB")
    assert copy.size == (320, 640)
    top, bottom = copy.getpixel((160, 100)), copy.getpixel((160, 540))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert (top[2] > 150, bottom[0] > 150) == (True, True)
