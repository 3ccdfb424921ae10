"""No key and no part of one comes out anywhere. A key is planted wherever it can reach, then everything is searched."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import pickle
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import Fleet, chain_toml
from zc_notebooks.cli.output import error_json
from zc_notebooks.errors import TransportFailure
from zc_notebooks.records import HttpRequest, HttpResponse
from zc_notebooks.redact import Redactor, Secret, redact, safe, short
from zc_notebooks.testing import chat_answer, chat_error, response

PLANTED = "Zq7Kx2Lm9Pw4Rt6Yv8Bn3Cd5"
"""No vendor's form: only the registry of keys in use can know it."""
PARTS = [PLANTED[:6], PLANTED[-6:]]


def echoes(status: int) -> Any:
    """A server that repeats the key in every place it has."""

    def answer(request: HttpRequest) -> HttpResponse:
        key = request.headers["authorization"].removeprefix("Bearer ")
        shortened = f"{key[:6]}...{key[-6:]}"
        message = f"Incorrect API key provided: {key} (also {shortened}, '{key[:6]}', {key.upper()}, https://x.test/?key={key})"
        body = {"error": {"message": message, "code": key, "type": shortened, "param": key[-6:]}, "echo": [key]}
        return response(status, body, {"x-key": key, "retry-after": key, "x-ratelimit-reset": shortened})

    return answer


def echoes_headers(request: HttpRequest) -> HttpResponse:
    """A server that says what it was sent."""
    named = [f"{name} {request.headers[name]}" for name in ("x-title", "x-my-token", "helicone-auth")]
    return chat_error(400, f"no: {named}")


def dies(request: HttpRequest) -> HttpResponse:
    """A connection error whose text holds the key."""
    raise TransportFailure(f"cannot reach {request.url}?k={PLANTED} with {request.headers}", kind="connect", sent=False)


def leaks(text: str) -> list[str]:
    """The parts of the planted key that ``text`` holds, in whatever case."""
    return [part for part in PARTS if part.lower() in text.lower()]


def everything(error: zc.CallError, fleet: Fleet) -> list[str]:
    """All text that leaves a failed call."""
    out = [str(error), repr(error), error.traceback(), json.dumps(error_json(error), default=str)]
    out += [repr(error.args), repr(error.attempts), str(error._repr_html_()), str(error._repr_markdown_())]
    out += error._render_traceback_()
    out += [msgspec.json.encode(row).decode() for row in fleet.rows]
    out += [repr(fleet.hops), repr(fleet.chain), str(fleet.chain._repr_html_()), repr(fleet.chain.marks())]
    out += [repr(fleet.chain.config), repr(fleet.chain.config.profiles), repr(fleet.chain.plan())]
    if isinstance(error, zc.AllCandidatesFailed):
        out.append(error.safe_summary())
    return out


@pytest.mark.parametrize(
    "script",
    [[echoes(401)], [echoes(429)], [echoes(200)], [echoes(500)], [dies]],
    ids=["401", "429", "200", "500", "dies"],
)
def test_a_failed_call_leaks_nothing(script: list[Any], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Rows, hops, marks, plans, reprs, HTML, the exception and its traceback (behaviours 114 and 183)."""
    caplog.set_level(logging.DEBUG)
    names = "abc"
    fleet = Fleet(
        dict.fromkeys(names, script),
        tmp_path,
        toml=chain_toml(*names, extra="[reliability]\nprovider_retries = 1\n"),
        environ={f"KEY_{name.upper()}": PLANTED for name in names},
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(zc.CallError) as failed:
            asyncio.run(fleet.chain.ask("x"))
    out = [*everything(failed.value, fleet), caplog.text, *(str(item.message) for item in caught)]
    fleet.chain.close()
    out += [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert [(text[:80], leaks(text)) for text in out if leaks(text)] == []


def test_a_good_answer_leaks_nothing(tmp_path: Path) -> None:
    """A model name, a request id or an unexpected field that repeats the key stays out of the row."""
    answer = msgspec.json.decode(chat_answer("fine").body)
    body = {**answer, "id": PLANTED, "model": f"m-{PLANTED}", "system_fingerprint": PLANTED}
    fleet = Fleet({"a": [response(200, body)]}, tmp_path, environ={"KEY_A": PLANTED})
    done = asyncio.run(fleet.chain.ask("x"))
    out = [repr(done), str(done._repr_html_()), repr(done.attempts), msgspec.json.encode(fleet.rows).decode()]
    assert [leaks(text) for text in out if leaks(text)] == []


def test_an_inline_key_is_masked(tmp_path: Path) -> None:
    """A key in the file itself warns, works, and shows nowhere (behaviour 14)."""
    text = (
        f'[providers.custom.a]\nuri = "https://a.test/v1"\nmodel = "m"\napi_key = "{PLANTED}"\n'
        '[[chain]]\nprovider = "custom.a"\n'
    )
    fleet = Fleet({"a": [chat_answer()]}, tmp_path, toml=text, environ={})
    asyncio.run(fleet.chain.ask("x"))
    assert PLANTED in fleet.transport.requests[0].headers["authorization"]
    out = repr(fleet.chain.config) + repr(fleet.chain.config.profiles) + repr(fleet.chain.config.warnings)
    assert (leaks(out), [warning.code for warning in fleet.chain.config.warnings]) == ([], ["inline_api_key"])


def test_a_secret_has_no_text_form() -> None:
    """repr, str, format and pickle."""
    secret = Secret(PLANTED)
    assert leaks(f"{secret} {secret!r} {secret:>30} {[secret]}") == []
    assert secret.reveal() == PLANTED
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("sk-abcdef1234567890", "***"),
        ("key gsk_abcDEF123, xai-1 and AIzaSyABC", "key ***, *** and ***"),
        ("authorization: Bearer abc.def-ghi", "authorization: ***"),
        ("Bearer abc.def", "Bearer ***"),
        ("see https://user:pw@host.test/v1?api-version=1&key=2#x now", "see https://host.test/v1#x now"),
        ("task-oriented risk-free ask-me", "task-oriented risk-free ask-me"),
        ('{"api_key": "abc"}', '{"api_key": "***"}'),
        ("plain text, 429 Too Many Requests", "plain text, 429 Too Many Requests"),
    ],
)
def test_key_shapes(text: str, right: str) -> None:
    """Spec 13, redaction."""
    assert redact(text) == right


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60), st.text())
def test_a_known_key_never_survives(key: str, around: str) -> None:
    """Whatever stands around it, and however often the text is redacted."""
    redactor = Redactor([key])
    once = redactor(f"{around}{key}{around}")
    assert key not in once or key in "***"


def json_of_javascript(key: str) -> str:
    """With slashes escaped, as some servers write it."""
    return json.dumps(key).replace("/", "\\/")


@pytest.mark.parametrize("form", [str, str.lower, str.upper, quote_plus, html.escape, json.dumps, json_of_javascript])
def test_a_known_key_in_another_form(form: Callable[[str], str]) -> None:
    """A server may echo it in another case, in an address, in JSON inside of JSON, in a page of HTML."""
    said = form('Zq7K/x2Lm9"Pw4<Rt6Y&v8Bn+Cd5=')
    told = Redactor(['Zq7K/x2Lm9"Pw4<Rt6Y&v8Bn+Cd5='])(f"Incorrect key {said}, {said[:8]} and {said[-9:]}")
    assert told.startswith(("Incorrect key ***, ", 'Incorrect key "***", '))
    assert [piece for piece in ("zq7k", "lm9", "rt6y", "cd5") if piece in told.lower()] == []


PLACES = """
[providers.custom.a]
uri = "https://a.test/v1"
model = "m"
keyless = true
extra_headers = { "x-my-token" = "%(key)s", "helicone-auth" = "Bearer %(key)s", "x-title" = "an ordinary title" }
provider_extra = { user = "somebody else", prompt_cache_key = "my-own-cache", route = { apiKey = "%(key)s" } }
chat_template_kwargs = { eos_token = "<|im_end|>" }
[[chain]]
provider = "custom.a"
"""


def test_a_key_in_a_header_or_an_extra_field_of_ones_own(tmp_path: Path) -> None:
    """It is sent, warned of, and shown nowhere; what is no key stays readable."""
    fleet = Fleet({"a": [echoes_headers]}, tmp_path, toml=PLACES % {"key": PLANTED}, environ={})
    with pytest.raises(zc.CallError) as failed:
        asyncio.run(fleet.chain.ask("x"))
    sent = fleet.transport.requests[0]
    assert (sent.headers["x-my-token"], PLANTED.encode() in sent.body) == (PLANTED, True)
    assert [(text[:80], leaks(text)) for text in everything(failed.value, fleet) if leaks(text)] == []
    assert "an ordinary title" in str(failed.value)
    config = fleet.chain.config
    assert "my-own-cache" in repr(config.profiles)
    assert "<|im_end|>" in repr(config.profiles)
    assert [warning.path.removeprefix("providers.custom.a.") for warning in config.warnings] == [
        "extra_headers.x-my-token",
        "extra_headers.helicone-auth",
        "provider_extra.route.apiKey",
    ]


@given(st.text(alphabet=st.characters(max_codepoint=0xFF)))
def test_a_safe_sentence(text: str) -> None:
    """No control character but newline and tab; a text without any stays what it is."""
    told = safe(text)
    assert not [letter for letter in told if unicodedata.category(letter) == "Cc" and letter not in "\n\t"]
    assert told == text or not text.isprintable()


def test_a_text_turns_no_direction() -> None:
    """What would make the text after it be read backwards is seen; marks of languages written that way stay."""
    assert safe("abc\u202etxt.exe\u202c \u2066x\u2069 \u200f") == "abc\ufffdtxt.exe\ufffd \ufffdx\ufffd \u200f"


@given(st.text())
def test_a_short_line(text: str) -> None:
    """At most 140 characters, no line end and no control character."""
    line = short(text)
    assert len(line) <= 140
    assert len(line.splitlines()) <= 1
    assert not [letter for letter in line if unicodedata.category(letter) == "Cc"]
