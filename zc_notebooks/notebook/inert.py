"""Whether markup does nothing by itself and fetches nothing, so that a report may hold it as it is.

A grammar stricter than HTML's, with lists of what is known: every ``<`` begins one of the known tags with quoted or
plain attributes. So it does not matter in which state a browser's parser meets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

_TOKEN: Final = re.compile(
    r"""<(?P<name>[a-zA-Z][\w:-]*)(?P<attributes>(?:\s+[\w:.-]+(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>=`/]+))?)*)\s*/?>
    |</[a-zA-Z][\w:-]*\s*>
    |<!--(?:(?!--)[^<>])*-->|<\?xml[^<>]*\?>|<!DOCTYPE[^<>]*>
    |(?P<text>[^<]+)""",
    re.VERBOSE,
)
_ATTRIBUTE: Final = re.compile(r"""([\w:.-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=`/]+)))?""")
_NAMES: Final = """
a abbr article b blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure
font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li mark ol p pre q s samp section small span strong style sub
summary sup table tbody td tfoot th thead time tr tt u ul var wbr
svg g path text tspan textpath line rect circle ellipse polygon polyline title desc defs clippath lineargradient
radialgradient stop pattern mask marker use symbol image
metadata rdf:rdf cc:work cc:agent dc:creator dc:date dc:format dc:title dc:type
"""
_TAGS: Final = frozenset(_NAMES.split())
_WORDS: Final = re.compile(r"title|alt|id|class|lang|aria-.*|data-.*|xmlns.*|rdf:.*")
"""Attributes whose value is only text."""
_REFUSED: Final = re.compile(r"on.*|srcset|background|poster|ping|action|formaction")
_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
_LINK: Final = re.compile(r"(?:https?://|mailto:|#).*", re.DOTALL)
_CSS: Final = re.compile(r"\\|@import|(?:expression|image-set|image|src)\s*\(|javascript:|-moz-binding|behavior\s*:")
_URL: Final = re.compile(r"url\(\s*[\"']?(.?)")


def inert(markup: str) -> bool:
    """Whether ``markup`` holds no script, frame, event attribute, form or animation, and loads nothing from anywhere.

    A link to follow (``<a href="https://…">``) is inert, a picture inside (``data:``) too.
    """
    return _tokens(markup) is not None


def words_of(markup: str) -> str:
    """The texts and attributes of inert ``markup`` as a reader has them, one after the other."""
    return "".join(_tokens(markup) or ())


def _tokens(markup: str) -> list[str] | None:
    """The texts, or ``None`` where something is not known to be inert."""
    texts: list[str] = []
    place = 0
    styled = False
    while place < len(markup):
        found = _TOKEN.match(markup, place)
        if found is None:
            return None
        place = found.end()
        name = (found["name"] or "").lower()
        if found["text"] is not None:
            texts.append(unescape(found["text"]))
            if styled and not _harmless_css(found["text"]):
                return None
        elif name:
            values = list(_attributes(found["attributes"]))
            if name not in _TAGS or not all(_harmless(name, key, value) for key, value in values):
                return None
            texts += [f" {value} " for _, value in values]
        if name or found[0].startswith("</"):
            styled = name == "style" or (styled and not found[0].lower().startswith("</style"))
    return texts


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    for found in _ATTRIBUTE.finditer(text):
        yield found[1].lower(), unescape(found[2] or found[3] or found[4] or "")


def _harmless(tag: str, name: str, value: str) -> bool:
    if _REFUSED.fullmatch(name):
        return False
    if name in ("href", "xlink:href", "src"):
        known = _LINK if tag == "a" else _PICTURE
        return value.startswith("#") or known.fullmatch(value) is not None
    return _WORDS.fullmatch(name) is not None or _harmless_css(value)


def _harmless_css(text: str) -> bool:
    """Of a style, or of an attribute that a browser may read as one."""
    css = unescape(text).lower()
    return _CSS.search(css) is None and all(first == "#" for first in _URL.findall(css))
