"""The size of a picture from the first bytes of its file."""

from io import BytesIO

import pytest
from PIL import Image

from waypost.http.picture_headers import size_of

_ORIENTATION = 0x0112


def _picture(kind: str, **options: object) -> bytes:
    out = BytesIO()
    Image.new("RGB", (300, 200), "#7c2d12").save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("GIF", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("JPEG", {"icc_profile": bytes(200_000)}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": bytes(20)}),
        ("AVIF", {}),
    ],
)
def test_size_is_that_of_the_decoded_picture(kind: str, options: dict[str, object]) -> None:
    assert size_of(_picture(kind, **options)) == (300, 200)


@pytest.mark.parametrize(("orientation", "size"), [(1, (300, 200)), (3, (300, 200)), (6, (200, 300)), (8, (200, 300))])
def test_size_of_a_turned_photo_is_the_upright_one(orientation: int, size: tuple[int, int]) -> None:
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    assert size_of(_picture("JPEG", exif=exif)) == size


@pytest.mark.parametrize("kind", ["PNG", "GIF", "JPEG", "WEBP", "AVIF"])
def test_broken_picture_has_no_size_or_the_right_one(kind: str) -> None:
    whole = _picture(kind)
    assert {size_of(whole[:length]) for length in range(len(whole))} <= {None, (300, 200)}


def test_size_of_other_bytes_is_unknown() -> None:
    for data in (b"", b"%PDF-1.7", b"\xff\xd8\xff", b"\0\0\0\x1cftypavif", b"\x89PNG\r\n\x1a\n" + bytes(16)):
        assert size_of(data) is None
