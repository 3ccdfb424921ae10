"""The pieces of a prompt, checked and made plain: text, JSON data, images, message content."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from zc_notebooks.chat import ImagePart, Part, TextPart
from zc_notebooks.errors import ZcError
from zc_notebooks.redact import short

ImageSource = str | Path | bytes | ImagePart
"""A path, the bytes of an image file, a ``data:`` or http URL, or a finished part."""

_TEXT_TYPES: Final = frozenset({"text", "input_text", "output_text"})
_IMAGE_TYPES: Final = frozenset({"image_url", "input_image"})
_DATA_URL: Final = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL)
_MAX_DEPTH: Final = 100
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_FTYP: Final = {b"avif": "image/avif", b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif"}


class InvalidRequest(ZcError, ValueError):
    """What was asked cannot be sent: the message says what, where, and what to write instead. Zero calls were made."""


def kind(value: object) -> str:
    """A value's type as a sentence names it."""
    return "None" if value is None else f"a {type(value).__name__}"


def clean(text: str) -> str:
    """``text`` that every wire can carry: surrogate pairs joined, lone ones and NUL replaced by U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


def clean_json(value: object, where: str, depth: int = 0) -> Any:
    """``value`` as plain JSON data with clean text. Raises :class:`InvalidRequest` for what JSON has no form for."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth > _MAX_DEPTH:
        raise InvalidRequest(f"{where}: nested more than {_MAX_DEPTH} levels deep; make it flatter")
    if isinstance(value, Mapping):
        return {clean(str(key)): clean_json(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(item, f"{where}[{place}]", depth + 1) for place, item in enumerate(value)]
    raise InvalidRequest(f"{where}: {kind(value)} has no JSON form; use dict, list, str, int, float, bool or None")


def text_at(value: object, where: str) -> str:
    """``value`` as clean text, or a sentence that it is none."""
    if isinstance(value, str):
        return clean(value)
    raise InvalidRequest(f"{where}: expected text, got {kind(value)}")


def content(value: object, where: str) -> tuple[Part, ...]:
    """The parts of a message's ``content``: text, a list of parts, or nothing. Empty text is left out."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    elif isinstance(value, TextPart | ImagePart | Mapping):
        raise InvalidRequest(f"{where}: a part stands alone; put it into a list")
    elif not isinstance(value, Sequence) or isinstance(value, bytes):
        raise InvalidRequest(f"{where}: expected text or a list of parts, got {kind(value)}")
    parts = [_part(item, f"{where}[{place}]") for place, item in enumerate(value)]
    return tuple(part for part in parts if not isinstance(part, TextPart) or part.text)


def _part(item: object, where: str) -> Part:
    if isinstance(item, str):
        return TextPart(text=clean(item))
    if isinstance(item, TextPart):
        return TextPart(text=clean(item.text))
    if isinstance(item, ImagePart):
        return image(item, where)
    if not isinstance(item, Mapping):
        raise InvalidRequest(f"{where}: expected a part like {{'type': 'text', 'text': …}}, got {kind(item)}")
    form = item.get("type")
    if form in _TEXT_TYPES:
        return TextPart(text=text_at(item.get("text"), f"{where}.text"))
    if form == "refusal":
        return TextPart(text=text_at(item.get("refusal"), f"{where}.refusal"))
    if form in _IMAGE_TYPES:
        return _image_url(item.get("image_url"), f"{where}.image_url")
    raise InvalidRequest(
        f"{where}: a part of type {short(repr(form), 40)} cannot be sent; "
        "use text ('text' or 'input_text') or an image ('image_url')"
    )


def _image_url(value: object, where: str) -> ImagePart:
    """An image of a message dictionary: by URL only, because such data may come from elsewhere than the user."""
    url = value.get("url") if isinstance(value, Mapping) else value
    if isinstance(url, str) and url.lower().startswith(("http://", "https://", "data:")):
        return image(url, where)
    raise InvalidRequest(f"{where}: expected a data: or http URL; for a file pass images=[path]")


def image(source: object, where: str) -> ImagePart:
    """An image from whatever names it. Raises :class:`InvalidRequest` when there is none."""
    if isinstance(source, ImagePart):
        if (source.url is None) == (source.data is None):
            raise InvalidRequest(f"{where}: an image has either a url or data; give exactly one of them")
        return image(source.url, where) if source.url is not None else source
    if isinstance(source, bytes | bytearray | memoryview):
        return _image_data(bytes(source), where)
    if isinstance(source, str) and source[:5].lower() == "data:":
        return _data_url(source, where)
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        return ImagePart(url=clean(source), media_type=_type_by_name(source.split("?")[0]))
    if isinstance(source, str | Path):
        return _image_file(Path(source), where)
    raise InvalidRequest(f"{where}: expected a path, bytes, a data: URL or an http URL, got {kind(source)}")


def _image_file(path: Path, where: str) -> ImagePart:
    try:
        data = path.expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise InvalidRequest(f"{where}: cannot read the image {short(str(path), 80)}: {reason}") from None
    return _image_data(data, where)


def _image_data(data: bytes, where: str) -> ImagePart:
    media_type = media_type_of(data)
    if media_type is None:
        raise InvalidRequest(f"{where}: not an image that models read; convert it to PNG, JPEG, WebP or GIF")
    return ImagePart(data=data, media_type=media_type)


def _data_url(url: str, where: str) -> ImagePart:
    match = _DATA_URL.fullmatch(url)
    if match is None or ";base64" not in match[2].lower():
        raise InvalidRequest(f"{where}: expected data:image/png;base64,… ")
    try:
        data = base64.b64decode("".join(match[3].split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"{where}: the data: URL is not valid base64; encode the image's bytes again") from None
    if not match[1]:
        return _image_data(data, where)
    if not match[1].lower().startswith("image/") or not data:
        raise InvalidRequest(f"{where}: a data: URL of type {short(match[1], 40)} is no image; only images can be sent")
    return ImagePart(data=data, media_type=match[1].lower())


def media_type_of(data: bytes) -> str | None:
    """The media type that an image file's first bytes say, or ``None``."""
    for magic, media_type in _MAGIC:
        if data.startswith(magic):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return _FTYP.get(data[8:12]) if data[4:8] == b"ftyp" else None


def _type_by_name(url: str) -> str:
    ending = url.rsplit(".", 1)[-1].lower()
    known = {"jpg": "jpeg", "jpeg": "jpeg", "webp": "webp", "gif": "gif", "bmp": "bmp", "heic": "heic", "avif": "avif"}
    return f"image/{known.get(ending, 'png')}"
