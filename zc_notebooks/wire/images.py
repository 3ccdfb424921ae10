"""Images of a message as wires want them: a ``data:`` URL, or media type and base64 apart."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from zc_notebooks.chat import ChatRequest, ImagePart

_DATA_URL = re.compile(r"data:(?P<media>[^;,]*)(?:;[^,]*)?;base64,(?P<data>.*)", re.DOTALL | re.IGNORECASE)


def image_url(part: ImagePart) -> str:
    """The image's URL; data becomes a ``data:`` URL."""
    if part.data is None:
        return part.url or ""
    return f"data:{part.media_type};base64,{base64.b64encode(part.data).decode()}"


def inline_image(part: ImagePart) -> tuple[str, str] | None:
    """(media type, base64 text) of an image given as data or as a ``data:`` URL; ``None`` for any other URL."""
    if part.data is not None:
        return part.media_type, base64.b64encode(part.data).decode()
    match = _DATA_URL.fullmatch(part.url or "")
    return (match["media"] or part.media_type, match["data"]) if match else None


def images(request: ChatRequest) -> Iterator[ImagePart]:
    """Every image of the conversation."""
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ImagePart):
                yield part


def has_image_urls(request: ChatRequest) -> bool:
    """Whether some image must be fetched by the provider."""
    return any(part.data is None and not (part.url or "").lower().startswith("data:") for part in images(request))


def has_tool_images(request: ChatRequest) -> bool:
    """Whether some tool result holds an image."""
    return any(
        message.role == "tool" and any(isinstance(part, ImagePart) for part in message.parts)
        for message in request.messages
    )
