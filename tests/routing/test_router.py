"""The router: hints, targets, keys, and what a wrapper can do. Numbers are the behaviours of the specification."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import zc_notebooks as zc
from tests.fleet import Fleet
from zc_notebooks.calling import UnknownHintWarning
from zc_notebooks.errors import AllCandidatesFailed, ConfigError, UnsupportedRequest
from zc_notebooks.messages import Prompt
from zc_notebooks.records import HttpRequest
from zc_notebooks.reliability.materialize import Ask
from zc_notebooks.reliability.wrapper import capabilities, stable_identity
from zc_notebooks.routing.router import RouterModelProvider
from zc_notebooks.testing import CHAT_DONE, Pieces, chat_answer, chat_chunk, chat_error
from zc_notebooks.watch import targets

KEYS = {name: f"zz-{name.lower()}-0123456789abcdef" for name in ("K1", "K2", "OWN_A", "OWN_B", "OWN_C")}
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
GONE = Pieces(pieces=(chat_chunk(""), "disconnect"))


def block(name: str, model: str | None = "m", **fields: Any) -> str:
    """A profile at ``https://<name>.test`` with the key of ``OWN_<NAME>``."""
    own = {"api_key_env": f"OWN_{name.upper()}", **fields}
    lines = [f"[providers.custom.{name}]", f'uri = "https://{name}.test/v1"']
    lines += [f'model = "{model}"'] if model is not None else []
    return "\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in own.items())]) + "\n"


def route(hint: str, name: str, model: str = "routed", key: str | None = None) -> str:
    """One ``[[model_routes]]`` block."""
    own = f'api_key_env = "{key}"\n' if key else ""
    return f'[[model_routes]]\nhint = "{hint}"\nmodel_provider = "custom.{name}"\nmodel = "{model}"\n{own}'


def fleet_of(
    folder: Path, *parts: str, answers: Mapping[str, list[Any]] | None = None, start: str = "a", **options: Any
) -> Fleet:
    """A fleet that starts at ``custom.<start>``; every host answers unless told otherwise."""
    script: dict[str, list[Any]] = {name: [chat_answer(f"from {name}")] * 4 for name in "abcd"} | dict(answers or {})
    toml = f'default_provider = "custom.{start}"\n' + "".join(parts)
    return Fleet(script, folder, toml=toml, environ=options.pop("environ", KEYS), **options)


def asked(fleet: Fleet) -> list[tuple[str, str]]:
    """(host, model) of every request."""
    return [(host(request), json.loads(request.body)["model"]) for request in fleet.transport.requests]


def host(request: HttpRequest) -> str:
    return request.url.split("//")[1].split(".")[0]


def chat(fleet: Fleet, model: str | None = None, prompt: Prompt = "hello", *, override: str | None = None) -> Any:
    """One call through the router."""
    return asyncio.run(RouterModelProvider(fleet.chain, model=override).chat(prompt, model=model))


pytestmark = pytest.mark.filterwarnings("ignore::zc_notebooks.calling.UnknownHintWarning")

# -- hints and targets ------------------------------------------------------------------------------------------------

FAST_AND_SMART = route("fast", "b", "small") + route("smart", "c", "large")


@pytest.mark.parametrize(
    ("model", "pin_of_a", "pin_of_b", "served"),
    [
        ("hint:fast", "pin-a", None, ("b", "small")),
        ("hint:fast", "pin-a", "pin-b", ("b", "pin-b")),
        ("hint:smart", "pin-a", None, ("c", "m")),
        ("hint:nope", "pin-a", None, ("a", "pin-a")),
        ("hint:nope", None, None, ("a", "hint:nope")),
        ("hint:Fast", None, None, ("a", "hint:Fast")),
        ("plain", "pin-a", None, ("a", "pin-a")),
        ("plain", None, None, ("a", "plain")),
        (None, "pin-a", None, ("a", "pin-a")),
    ],
)
def test_149_150_151_153_who_is_called(
    tmp_path: Path, model: str | None, pin_of_a: str | None, pin_of_b: str | None, served: tuple[str, str]
) -> None:
    """Behaviours 149, 150, 151 and 153: one target alone, with the pin where there is one."""
    fleet = fleet_of(tmp_path, block("a", pin_of_a), block("b", pin_of_b), block("c"), FAST_AND_SMART)
    chat(fleet, model)
    assert asked(fleet) == [served]


def test_150_an_unknown_hint_is_said(tmp_path: Path) -> None:
    """Behaviour 150: a warning in the plan names the hints there are."""
    fleet = fleet_of(tmp_path, block("a"), block("b"), block("c"), FAST_AND_SMART)
    (warning,) = fleet.chain.plan(hint="nope").warnings
    assert (warning.code, warning.ref) == ("unknown_hint", "hint:nope")
    assert "fast, smart" in warning.path
    with pytest.warns(UnknownHintWarning, match=r"'nope' is the hint of no route \(known: fast, smart\)"):
        done = chat(fleet, "hint:nope")
    assert done.fallback is None


@pytest.mark.parametrize(("override", "served"), [(None, "pin-a"), ("new", "new")])
def test_152_a_hint_that_names_the_primary(tmp_path: Path, override: str | None, served: str) -> None:
    """Behaviour 152: the primary's pin (its construction override included), not the route's model."""
    fleet = fleet_of(tmp_path, block("a", "pin-a"), route("own", "a"))
    chat(fleet, "hint:own", override=override)
    assert asked(fleet) == [("a", served)]


def test_153_fallback_models_of_an_unpinned_target_are_not_called(tmp_path: Path) -> None:
    """Behaviour 153: inert, while its ``fallback`` is still walked."""
    target = block("b", None, fallback_models=["x", "y"], fallback=["custom.c"])
    fleet = fleet_of(
        tmp_path, block("a"), target, block("c", "own-c"), route("fast", "b"), answers={"b": [chat_error(401, "no")]}
    )
    done = chat(fleet, "hint:fast")
    assert asked(fleet) == [("b", "routed"), ("c", "own-c")]
    assert (done.requested.provider_ref, done.requested.model) == ("custom.b", "routed")


def test_a_failing_target_does_not_spill_into_another(tmp_path: Path) -> None:
    """Spec 9: routing picks a reliability domain; every other one is healthy and is not asked."""
    fleet = fleet_of(tmp_path, block("a"), block("b"), route("fast", "b"), answers={"b": [chat_error(401, "no")]})
    with pytest.raises(AllCandidatesFailed):
        chat(fleet, "hint:fast")
    assert {name for name, _ in asked(fleet)} == {"b"}


def test_the_targets_in_order(tmp_path: Path) -> None:
    """Spec 9: the primary first, then each distinct route's profile; only the primary is overridden."""
    fleet = fleet_of(tmp_path, block("a"), block("b"), block("c"), FAST_AND_SMART, route("again", "b"))
    found = RouterModelProvider(fleet.chain, model="new").targets
    assert [(ref, target.plan.entries[0].model) for ref, target in found.items()] == [
        ("custom.a", "new"),
        ("custom.b", "m"),
        ("custom.c", "m"),
    ]


@pytest.mark.parametrize(
    ("hint", "source", "served"),
    [
        ("fast", None, ["b"]),
        ("fast", "chain", ["b", "a", "c"]),
        (None, None, ["a", "c"]),
        (None, "graph", ["a", "b"]),
        ("nope", None, ["a", "c"]),
    ],
)
def test_37_which_source_feeds_a_call(tmp_path: Path, hint: str | None, source: Any, served: list[str]) -> None:
    """Behaviour 37 and spec 3.1: hint, then chain, then graph; a call may say which itself."""
    chain = "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "ac")
    fleet = fleet_of(tmp_path, block("a", fallback=["custom.b"]), block("b"), block("c"), chain, route("fast", "b"))
    made = fleet.chain.plan(hint=hint, source=source)
    assert [entry.ref.removeprefix("custom.") for entry in made.entries] == served


def test_model_hint_on_every_surface(tmp_path: Path) -> None:
    """Spec 9: one resolver. ``ask``, ``stream``, ``plan`` and the router read ``hint:fast`` alike."""
    fleet = fleet_of(tmp_path, block("a"), block("b", None), route("fast", "b"))
    assert asyncio.run(fleet.chain.ask("hello", model="hint:fast")).served.model == "routed"
    assert [entry.ref for entry in fleet.chain.plan(model="hint:fast").entries] == ["custom.b"]
    assert [entry.ref for entry in fleet.chain.plan(requested="hint:fast").entries] == ["custom.b"]
    with pytest.raises(ConfigError, match="two hints, 'slow' and 'fast'"):
        fleet.chain.plan(hint="slow", model="hint:fast")


def test_a_target_shows_where_its_calls_go(tmp_path: Path) -> None:
    """Spec 10.3: an operator's choice has its way in plan, capabilities and targets as it has in the calls."""
    blind = block("b", "m-b", vision=False)
    fleet = fleet_of(tmp_path, block("a", "m-a", vision=True), blind, block("c"), route("fast", "c"))
    router = RouterModelProvider(fleet.chain, model="new")
    with fleet.chain.use("custom.b/x"):
        primary = router.resolve(None)
        assert [(entry.ref, entry.model) for entry in primary.plan.entries] == [("custom.b", "x")]
        assert not primary.capabilities.vision
        assert repr(primary) == "ReliableModelProvider(custom.b/x)"
        assert list(router.targets) == ["custom.b", "custom.c"]
        asyncio.run(router.chat("hello"))
        asyncio.run(router.targets["custom.b"].chat("hello"))
        asyncio.run(router.chat("hello", model="hint:fast"))
    asyncio.run(router.chat("hello"))
    assert asked(fleet) == [("b", "x"), ("b", "x"), ("c", "m"), ("a", "new")]


def test_a_chosen_target_is_there_once(tmp_path: Path) -> None:
    """The choice of a route's profile: the primary's calls and the hint's go to one target."""
    fleet = fleet_of(tmp_path, block("a"), block("b", "m-b"), block("c"), FAST_AND_SMART)
    router = RouterModelProvider(fleet.chain)
    with fleet.chain.use("custom.b/x"):
        assert {ref: target.plan.entries[0].model for ref, target in router.targets.items()} == {
            "custom.b": "x",
            "custom.c": "m",
        }


def test_no_repr_of_the_router_raises(tmp_path: Path) -> None:
    """A route that an edit took away: the line says so, and the call says why."""
    file = tmp_path / "zc.toml"
    profiles = 'default_provider = "custom.a"\n' + block("a") + block("b")
    file.write_text(profiles + route("fast", "b"), encoding="utf-8")
    with zc.open(file, ledger=tmp_path / "ledger", environ=KEYS) as chain:
        router = RouterModelProvider(chain)
        target = router.resolve("hint:fast")
        assert repr(target) == "ReliableModelProvider(custom.b/m)"
        primary = router.resolve(None)
        with chain.use("custom.b"):
            file.write_text('default_provider = "custom.a"\n' + block("a"), encoding="utf-8")
            assert repr(router) == "RouterModelProvider(cannot be shown: ConfigError)"
            assert repr(primary) == "ReliableModelProvider(cannot be shown: ConfigError)"


# -- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "used", "conflict"),
    [((None, "K2"), "K2", False), (("K1", "K2"), "K1", True), ((None, None), "OWN_B", False)],
)
def test_154_the_key_of_a_target(
    tmp_path: Path, keys: tuple[str | None, str | None], used: str, conflict: bool
) -> None:
    """Behaviour 154: the first route naming the target that supplies a key, for all its hints; else the profile's."""
    routes = [route(f"h{place}", "b", key=key) for place, key in enumerate(keys)]
    fleet = fleet_of(tmp_path, block("a"), block("b"), *routes)
    for place in range(2):
        chat(fleet, f"hint:h{place}")
    chat(fleet)
    sent = [(host(request), request.headers["authorization"]) for request in fleet.transport.requests]
    assert sent == [("b", f"Bearer {KEYS[used]}")] * 2 + [("a", f"Bearer {KEYS['OWN_A']}")]
    assert ("route_key_conflict" in {warning.code for warning in fleet.chain.config.warnings}) is conflict


def test_154_the_primary_is_a_target_too(tmp_path: Path) -> None:
    """Behaviour 154: a route that names the primary and supplies a key supplies it for calls without a hint."""
    fleet = fleet_of(tmp_path, block("a"), route("own", "a", key="K1"))
    chat(fleet)
    assert fleet.transport.requests[0].headers["authorization"] == f"Bearer {KEYS['K1']}"


def test_a_routes_key_never_goes_elsewhere(tmp_path: Path) -> None:
    """Spec 9: the target's fallbacks have keys of their own."""
    fleet = fleet_of(
        tmp_path,
        block("a"),
        block("b", fallback=["custom.c"]),
        block("c"),
        route("fast", "b", key="K1"),
        answers={"b": [chat_error(401, "no")]},
    )
    chat(fleet, "hint:fast")
    sent = {host(request): request.headers["authorization"] for request in fleet.transport.requests}
    assert sent == {"b": f"Bearer {KEYS['K1']}", "c": f"Bearer {KEYS['OWN_C']}"}


@pytest.mark.parametrize("surface", ["router", "hint"])
def test_155_a_target_that_cannot_be_built(tmp_path: Path, surface: str) -> None:
    """Behaviour 155: the whole construction fails, naming the target; a call by hint through the chain as well."""
    environ = {name: key for name, key in KEYS.items() if name != "OWN_C"}
    parts = [block("a"), block("b", fallback=["custom.c"]), block("c"), route("ok", "a"), route("fast", "b")]
    fleet = fleet_of(tmp_path, *parts, environ=environ)
    build = {
        "router": lambda: RouterModelProvider(fleet.chain),
        "hint": lambda: fleet.chain.ask_sync("hello", hint="ok"),
    }
    with pytest.raises(ConfigError, match=r"the target of hint 'fast' cannot be built.*custom\.c.*OWN_C"):
        build[surface]()
    assert fleet.transport.requests == []


def test_a_foreign_key_of_a_route_is_refused(tmp_path: Path) -> None:
    """Behaviour 19, for the key a route supplies: it must not be sent to another vendor."""
    toml = '[providers.groq.x]\nmodel = "m"\napi_key_env = "OWN"\n[[model_routes]]\nhint = "h"\n'
    toml += 'model_provider = "groq.x"\nmodel = "m"\napi_key_env = "WRONG"\n'
    with pytest.raises(ConfigError, match="WRONG has the form of a key of Anthropic"):
        Fleet({}, tmp_path, toml=toml, environ={"OWN": "gsk_0123456789abcdef", "WRONG": "sk-ant-0123456789abcdef"})


@pytest.mark.parametrize(("pin", "model"), [("pin-b", "pin-b"), (None, "routed")])
def test_a_probe_asks_a_target_as_its_calls_do(tmp_path: Path, pin: str | None, model: str) -> None:
    """With the route's key, and its model where the profile has none; a round of ``watch`` knows such a target too."""
    fleet = fleet_of(tmp_path, block("a"), block("b", pin), route("fast", "b", key="K1"))
    assert targets(fleet.chain, ()) == ["custom.a", "custom.b"]
    found = fleet.chain.probe_sync("custom.b")
    assert (found.model, found.reachable) == (model, True)
    assert [request.headers["authorization"] for request in fleet.transport.requests] == [f"Bearer {KEYS['K1']}"]
    assert asked(fleet) == [("b", model)]


def test_a_probe_without_the_routes_key_asks_nobody(tmp_path: Path) -> None:
    """The profile's own key is not the target's."""
    keys = {name: key for name, key in KEYS.items() if name != "K1"}
    fleet = fleet_of(tmp_path, block("a"), block("b"), route("fast", "b", key="K1"), environ=keys)
    found = fleet.chain.probe_sync("custom.b")
    assert (found.state, found.text) == ("no key", "K1 is not set")
    assert asked(fleet) == []


@pytest.mark.parametrize(("keys", "key"), [(["K1"], "found"), (["OWN_B"], "K1 is not set"), ([], "K1 is not set")])
def test_the_status_of_a_target(tmp_path: Path, keys: list[str], key: str) -> None:
    """By the route's key, as its calls and probes; marks of both keys are its marks."""
    environ = {name: KEYS[name] for name in [*keys, "OWN_A"]}
    limited = {"b": [chat_error(429, "slow down")]}
    parts = block("a"), block("b"), route("fast", "b", key="K1")
    fleet = fleet_of(tmp_path, *parts, answers=limited, environ=environ)
    found = fleet.chain.status()["custom.b"]
    assert (found.key, found.words(fleet.clock.now())) == (key, "ready" if key == "found" else f"no key: {key}")
    if key == "found":
        with pytest.raises(AllCandidatesFailed):
            chat(fleet, "hint:fast")
        assert fleet.chain.status()["custom.b"].marks == tuple(fleet.chain.marks()) != ()


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, "hint:fast", "hint:nope", "plain"])
@pytest.mark.parametrize(
    ("stream", "retries", "calls"),
    [(GONE, 2, ["1", "2"]), (Pieces(pieces=(chat_chunk(finish="stop"), CHAT_DONE)), 1, ["1", "1", "2"])],
    ids=["cut", "empty"],
)
def test_148_recovery_through_the_router(
    tmp_path: Path, model: str | None, stream: Pieces, retries: int, calls: list[str]
) -> None:
    """Behaviour 148: permits and identity of the failed entry are those of the chain itself, whatever was asked for."""
    first, backup = ("c", "d") if model == "hint:fast" else ("a", "b")
    parts = [
        block("a", fallback=["custom.b"]),
        block("b"),
        block("c", fallback=["custom.d"]),
        block("d", api_key_env="K1"),
    ]
    fleet = fleet_of(
        tmp_path,
        *parts,
        route("fast", "c"),
        f"[reliability]\nprovider_retries = {retries}\n",
        answers={first: [stream, chat_error(400, "no")]},
    )

    async def run() -> zc.Completion:
        return await RouterModelProvider(fleet.chain).stream("hello", model=model).into(draft=None)

    done = asyncio.run(run())
    assert done.text == f"from {backup}"
    assert [host(request) for request in fleet.transport.requests] == [{"1": first, "2": backup}[who] for who in calls]
    assert len({row.call_id for row in fleet.rows}) == 1


# -- what a wrapper can do --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_a", "of_b", "expected"),
    [
        ({}, {}, {"native_tools": True, "mixed_tools": False, "vision": True, "streaming": True, "stream_tools": True}),
        ({"native_tools": False}, {}, {"native_tools": False, "mixed_tools": True}),
        ({"native_tools": False}, {"native_tools": False}, {"native_tools": False, "mixed_tools": False}),
        ({}, {"vision": False}, {"vision": False}),
        ({"streaming": False}, {}, {"streaming": True, "stream_tools": True}),
        ({"streaming": False}, {"stream_tools": False}, {"streaming": True, "stream_tools": False}),
        ({"streaming": False}, {"streaming": False}, {"streaming": False, "stream_tools": False}),
        ({"temperature": 0.5, "max_tokens": 7}, {"temperature": 1.0}, {"temperature": 0.5, "max_tokens": 7}),
    ],
)
def test_30_31_capabilities_of_a_wrapper(
    tmp_path: Path, of_a: Mapping[str, Any], of_b: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Behaviours 30 and 31: tools and vision need every entry, streams any; mixed tool support is said."""
    fleet = fleet_of(tmp_path, block("a", fallback=["custom.b"], **of_a), block("b", **of_b))
    found = RouterModelProvider(fleet.chain).targets["custom.a"].capabilities
    assert {name: getattr(found, name) for name in expected} == expected
    assert found == capabilities(fleet.chain.plan())


def test_30_an_image_is_refused_before_any_call(tmp_path: Path) -> None:
    """Behaviour 30: one entry that cannot see, zero calls; without a picture the same plan answers."""
    fleet = fleet_of(tmp_path, block("a", vision=True, fallback=["custom.b"]), block("b", vision=False))
    with pytest.raises(UnsupportedRequest, match=r"custom\.b"):
        fleet.chain.ask_sync("what is this?", images=[PIXEL])
    assert fleet.transport.requests == []
    assert fleet.chain.ask_sync("hello").text == "from a"


@pytest.mark.parametrize(
    ("blocks", "requested", "stable"),
    [
        ([("a", None, {})], "any", True),
        ([("a", "pin", {})], "pin", True),
        ([("a", "pin", {})], "other", False),
        ([("a", None, {})], "hint:fast", False),
        ([("a", "hint:fast", {})], "hint:fast", False),
        ([("a", None, {"fallback": ["custom.b"]}), ("b", "m", {})], "any", False),
        ([("a", "m", {"fallback_models": ["n"]})], "m", False),
    ],
)
def test_32_stable_identity(
    tmp_path: Path, blocks: list[tuple[str, str | None, dict[str, Any]]], requested: str, stable: bool
) -> None:
    """Behaviour 32: exactly one entry, unpinned or pinned to what was asked for; a hint never."""
    fleet = fleet_of(tmp_path, *(block(name, model, **fields) for name, model, fields in blocks))
    made = fleet.chain.plan(requested="any")
    assert stable_identity(made, requested) is stable
    assert RouterModelProvider(fleet.chain).targets["custom.a"].stable_identity(requested) is stable


def test_ask_is_the_one_way_to_say_it() -> None:
    """An ``Ask`` without a word is the default target."""
    assert Ask() == Ask(start=None, model=None, requested=None, hint=None, source=None, fallback=True)
