"""What of others a report may hold as it is."""

from __future__ import annotations

import pytest

from zc_notebooks.notebook.inert import inert, words_of

ACTIVE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=x></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    '<p OnClick="x()">x</p>',
    "<p\nonclick='x()'>x</p>",
    "<svg/onload=alert(1)>",
    '<iframe src="https://example.com"></iframe>',
    "<object data=x></object>",
    "<embed src=x>",
    "<form><input></form>",
    '<meta http-equiv="refresh" content="0;url=https://example.com">',
    '<base href="https://example.com">',
    '<link rel="stylesheet" href="x.css">',
    '<a href="javascript:alert(1)">x</a>',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '<a href=" java\nscript:alert(1)">x</a>',
    '<a href="data:text/html,x">x</a>',
    '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate attributeName=href values=javascript:alert(1)></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg><foreignObject><p>x</p></foreignObject></svg>",
    '<svg><use href="https://example.com/a.svg#b"/></svg>',
    '<svg><image href="https://example.com/a.png"/></svg>',
    '<p title="<img src=x onerror=alert(1)>">x</p>',
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<p>x <b",
]
REMOTE = [
    '<img src="https://example.com/a.png">',
    '<img src="//example.com/a.png">',
    '<img src="a.png">',
    '<img srcset="https://example.com/a.png 1x">',
    '<table background="https://example.com/a.png"></table>',
    "<style>@import 'https://example.com/a.css';</style>",
    "<svg><style>&#64;import 'https://example.com/a.css';</style></svg>",
    "<style>p { background: url(https://example.com/a.png) }</style>",
    "<p style=\"background: URL( 'https://example.com/a.png' )\">x</p>",
    "<p style=\"background: image-set('a.png' 1x)\">x</p>",
    '<p style="background: u\\72l(https://example.com/a.png)">x</p>',
    '<svg><rect fill="url(https://example.com/a.svg#b)"/></svg>',
]
INERT = [
    "",
    "plain & simple, 1 > 0, on = 1",
    '<style>\n.dataframe > th { text-align: right; }</style><table border="1"><tr><td>a\\b</td></tr></table>',
    '<a href="https://example.com/?a=b">x</a> <a href="#below">y</a>',
    '<img alt="a" src="data:image/png;base64,iVBORw0KGgo=">',
    '<svg xmlns="http://www.w3.org/2000/svg"><g fill="url(#a)" aria-label="a: 1"><use xlink:href="#b"/></g></svg>',
    "<?xml version='1.0'?><!-- made --><svg><path d='M0,0h1'/><title>1 &lt; 2</title></svg>",
    "<p class=a>one<br/>two</p>",
]


@pytest.mark.parametrize("markup", [*ACTIVE, *REMOTE])
def test_what_acts_or_fetches(markup: str) -> None:
    """Script in all its forms, whatever its letters, and everything that is loaded from elsewhere."""
    assert not inert(markup)
    assert words_of(markup) == ""


@pytest.mark.parametrize("markup", INERT)
def test_what_only_shows(markup: str) -> None:
    """Tables, drawings, pictures inside and links to follow."""
    assert inert(markup)


def test_words_of_markup() -> None:
    """As a reader has them: joined over tags, references resolved."""
    assert words_of('<b title="c">a&#98;</b>c') == " c abc"
