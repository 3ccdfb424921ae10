"""How large an image is, read from the first bytes of the common formats."""

from __future__ import annotations

import struct

from zc_notebooks.chat import ImagePart

_JPEG_MARK = 0xFF
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the headers that hold the size."""


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, GIF, JPEG or WebP image; ``None`` when it is none of them."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack(">II", data[16:24])
        elif data[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", data[6:10])
        elif data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        elif data[:4] == b"RIFF" and data[8:16] == b"WEBPVP8X":
            width = 1 + int.from_bytes(data[24:27], "little")
            height = 1 + int.from_bytes(data[27:30], "little")
        else:
            return None
    except struct.error:
        return None
    return width, height


def describe_image(image: ImagePart) -> str:
    """A few words on an image."""
    if image.data is None:
        return f"an image at {image.url}"
    size = image_size(image.data)
    kind = image.media_type or "unknown type"
    if size is None:
        return f"an image of {len(image.data)} bytes ({kind})"
    return f"an image of {size[0]} x {size[1]} pixels ({kind})"


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(data) and data[place] == _JPEG_MARK:
        if data[place + 1] in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        place += 2 + struct.unpack(">H", data[place + 2 : place + 4])[0]
    return None
