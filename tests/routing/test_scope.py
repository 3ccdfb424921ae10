"""Operators' choices in their scopes (spec 10.3): who comes first, what is said, and what really goes out."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zc_notebooks as zc
from tests.fleet import KEYS, Fleet, profile
from tests.routing.homes import CLOUD, COMPLEX, HOME, SIMPLE, THIRD, House
from zc_notebooks.routing.choice import Choice, ChoiceFile
from zc_notebooks.routing.scope import SCOPES, Scope
from zc_notebooks.testing import chat_answer, chat_error

pytestmark = pytest.mark.filterwarnings("ignore::zc_notebooks.calling.UnknownHintWarning")

Make = Callable[..., House]
OK = chat_answer("42")
TOML = "".join(profile(name, model=f"m-{name}") for name in "abc") + 'default_provider = "custom.a"\n'


def fleet_toml(extra: str = "") -> str:
    """Three profiles, ``custom.a`` the default."""
    head = 'default_provider = "custom.a"\n'
    return head + TOML.replace(head, "") + extra


def sent(fleet: Fleet) -> list[tuple[str, str, str]]:
    """(host, whose key, model) of every request."""
    owners = {f"Bearer {key}": name.removeprefix("KEY_").lower() for name, key in KEYS.items()}
    found = []
    for request in fleet.transport.requests:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(request.body or b"{}")
        host = request.url.split("//")[1].split(".")[0]
        found.append((host, owners[headers["authorization"]], body["model"]))
    return found


# -- what goes out ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flat", [False, True], ids=["graph", "chain"])
@pytest.mark.parametrize("named", ["custom.b", "custom.b/other", "custom.b/org/other:free"])
@pytest.mark.parametrize("scope", [*SCOPES, "call"])
def test_a_choice_is_really_served(tmp_path: Path, scope: Any, named: str, flat: bool) -> None:
    """156: the request carries that profile's endpoint and key together, and the chosen model."""
    extra = "".join(f'[[chain]]\nprovider = "custom.{name}"\n' for name in "ac") if flat else ""
    fleet = Fleet({"a": [OK], "b": [OK], "c": [OK]}, tmp_path, toml=fleet_toml(extra))
    model = named.partition("/")[2] or "m-b"
    if scope == "call":
        done = fleet.chain.ask_sync("hi", start=named)
    else:
        with fleet.chain.use(named, scope=scope):
            done = fleet.chain.ask_sync("hi")
            assert list(fleet.chain.stream_sync("hi"))
            assert fleet.chain.plan().entries[0].ref == "custom.b"
    assert set(sent(fleet)) == {("b", "b", model)}
    assert (done.served.provider_ref, done.served.model) == ("custom.b", model)
    assert (done.requested.provider_ref, done.requested.model) == ("custom.b", model)


def test_a_model_named_in_a_call_goes_to_the_chosen_profile(tmp_path: Path) -> None:
    """156: the nearer word gives the model, the choice gives endpoint and key."""
    fleet = Fleet({"a": [OK], "b": [OK], "c": [OK]}, tmp_path, toml=fleet_toml())
    with fleet.chain.use("custom.b/x"):
        fleet.chain.ask_sync("hi", model="y")
        fleet.chain.ask_sync("hi", start="custom.c")
        fleet.chain.ask_sync("hi", hint="nope")
    assert sent(fleet) == [("b", "b", "y"), ("c", "c", "m-c"), ("b", "b", "x")]


@given(
    named=st.sampled_from("abc"),
    model=st.sampled_from(["", "x", "org/y"]),
    failing=st.sets(st.sampled_from("abc")),
    fallback=st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from("abc"), max_size=3)),
)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_key_leaves_its_endpoint(
    tmp_path: Path, named: str, model: str, failing: set[str], fallback: dict[str, list[str]]
) -> None:
    """156: over any graph, choice and failures, a host gets its own profile's key alone."""
    blocks = []
    for name in "abc":
        edges = [f"custom.{other}" for other in fallback.get(name, []) if other != name]
        blocks.append(profile(name, model=f"m-{name}", fallback=json.dumps(edges)))
    script = {name: [chat_error(503, "no") if name in failing else OK] for name in "abc"}
    fleet = Fleet(script, tmp_path, toml='default_provider = "custom.a"\n' + "".join(blocks))
    with fleet.chain.use(f"custom.{named}/{model}" if model else f"custom.{named}"):
        try:
            fleet.chain.ask_sync("hi")
        except zc.ZcError:
            assert named in failing
    requests = sent(fleet)
    assert all(host == owner for host, owner, _ in requests)
    assert requests[0] == (named, named, model or f"m-{named}")


# -- classification ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", SCOPES)
def test_a_choice_stops_classification_until_auto(house: Make, scope: Scope) -> None:
    """166: no decision and no allowlist while a choice stands, in calls and in turns; ``auto`` brings both back."""
    one = house()
    one.lab.set_fault("third", "status:503")
    one.chain.use(THIRD, scope=scope)
    assert one.chain.ask_sync(COMPLEX).served.provider_ref == CLOUD, "its own fallback is open"
    with one.chain.turn(COMPLEX) as turn:
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
        assert turn.decision is None
    assert one.told == []
    one.chain.use("auto", scope=scope)
    assert one.chain.ask_sync(COMPLEX).served.provider_ref == HOME
    assert len(one.told) == 1


def test_the_other_scope_stays(house: Make) -> None:
    """166: with a choice in ``user`` as well, clearing ``session`` leaves the chain manual."""
    one = house()
    one.chain.use(THIRD, scope="user")
    one.chain.use(CLOUD, scope="session")
    cleared = one.chain.use("auto", scope="session")
    assert (cleared.shadowed, str(cleared.standing)) == (True, f"{THIRD}/dear (scope user)")
    assert "stays in effect" in str(cleared)
    assert one.chain.ask_sync(SIMPLE).served.provider_ref == THIRD
    one.chain.use("auto", scope="user")
    one.chain.ask_sync(SIMPLE)
    assert len(one.told) == 1


@given(held=st.dictionaries(st.sampled_from(SCOPES), st.sampled_from([CLOUD, THIRD])))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_precedence(house: Make, held: dict[Scope, str]) -> None:
    """166: user before agent before session, in whatever order they were set; each says when it is shadowed."""
    one = house()
    with ExitStack() as stack:
        for scope, ref in held.items():
            used = stack.enter_context(one.chain.use(ref, scope=scope))
            assert used.shadowed == ("comes first" in str(used))
        first = next((scope for scope in ("user", "agent", "session") if scope in held), None)
        standing = one.chain.in_use()
        assert (standing.scope if standing else None) == first
        assert first is None or (standing is not None and standing.choice.ref == held[first])
    assert one.chain.in_use() is None


def test_the_default_is_no_choice(house: Make) -> None:
    """Choosing the default's own value clears the scope; another model of the same provider is a choice."""
    one = house()
    one.chain.use(CLOUD)
    used = one.chain.use(f"{HOME}/small")
    assert (used.choice, used.standing) == (None, None)
    assert "is the default" in str(used)
    assert repr(used) == f"Used({used})"
    assert one.chain.use(HOME).choice is None
    assert one.chain.use(f"{HOME}/small-2").choice == Choice(ref=HOME, model="small-2")


def test_a_choice_made_in_a_turn_waits_for_the_next(house: Make) -> None:
    """A turn is decided once, at its entry; only an agent's block inside it is nearer, and stays in its border."""
    one = house(policy="auto")
    with one.chain.turn(COMPLEX):
        used = one.chain.use(THIRD, scope="session")
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
        with one.chain.use(HOME + "/small-2", scope="agent"):
            assert one.chain.ask_sync(SIMPLE).served.model == "small-2"
        assert one.chain.ask_sync(SIMPLE).served.provider_ref == CLOUD
    assert "from the next turn on" in str(used)
    assert one.chain.ask_sync(SIMPLE).served.provider_ref == THIRD


def test_agents_side_by_side(house: Make) -> None:
    """The scope ``agent`` belongs to a context: two tasks and the code around them do not see each other's."""
    one = house(policy=None)

    async def agent(ref: str) -> str:
        with one.chain.use(ref, scope="agent"):
            await asyncio.sleep(0)
            done = await asyncio.to_thread(one.chain.ask_sync, SIMPLE)
        return done.served.provider_ref

    async def run() -> list[str]:
        both = await asyncio.gather(agent(CLOUD), agent(THIRD))
        return [*both, (await one.chain.ask(SIMPLE)).served.provider_ref]

    assert asyncio.run(run()) == [CLOUD, THIRD, HOME]


def test_calls_made_in_an_agents_block_are_the_agents(house: Make) -> None:
    """A list of calls is made in the block and gathered after it, in another agent's: the nearer word is the first."""
    one = house(policy=None)

    async def run() -> list[str]:
        with one.chain.use(CLOUD, scope="agent"):
            calls = [one.chain.ask(SIMPLE) for _ in range(2)]
        with one.chain.use(THIRD, scope="agent"):
            done = await asyncio.gather(*calls)
            return [*(each.served.provider_ref for each in done), str(one.chain.in_use())]

    assert asyncio.run(run()) == [CLOUD, CLOUD, f"{THIRD}/dear (scope agent)"]


def test_session_is_one_object_and_user_is_all_of_them(house: Make) -> None:
    """Another chain of the same configuration sees what the user chose, and nothing of the session."""
    one, other = house(), house()
    one.chain.use(CLOUD, scope="session")
    assert other.chain.in_use() is None
    one.chain.use(THIRD, scope="user")
    assert str(other.chain.in_use()) == f"{THIRD}/dear (scope user)"


# -- mistakes and the file --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "scope", "words"),
    [
        ("groq.fre", "session", r"did you mean 'groq\.free'"),
        ("", "user", "no configured profile"),
        ("groq", "user", "no configured profile"),
        (CLOUD, "everywhere", "'everywhere' does not exist"),
    ],
)
def test_a_wrong_choice_is_a_sentence(house: Make, named: str, scope: Any, words: str) -> None:
    """It changes nothing."""
    one = house()
    with pytest.raises(zc.ConfigError, match=words):
        one.chain.use(named, scope=scope)
    assert one.chain.in_use() is None


def test_a_profile_without_a_model_needs_one(tmp_path: Path) -> None:
    """There is nothing to ask it for."""
    bare = '[providers.custom.b]\nuri = "https://b.test/v1"\napi_key_env = "KEY_B"\n'
    fleet = Fleet({"a": [OK], "b": [OK]}, tmp_path, toml='default_provider = "custom.a"\n' + profile("a") + bare)
    with pytest.raises(zc.ConfigError, match="no model"):
        fleet.chain.use("custom.b")
    fleet.chain.use("custom.b/x")
    fleet.chain.ask_sync("hi")
    assert sent(fleet) == [("b", "b", "x")]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"ref":1}', b"\xff\xfe"])
def test_a_damaged_file_is_never_passed_over(house: Make, content: bytes) -> None:
    """Calls say what is wrong; choosing again or ``auto`` mends it."""
    one = house()
    one.chain.use(CLOUD, scope="user")
    file = ChoiceFile(one.chain.config)
    file.path.write_bytes(content)
    with pytest.raises(zc.ConfigError, match=r"damaged: choose again, or `zc use auto`"):
        one.chain.ask_sync(SIMPLE)
    one.chain.use("auto", scope="user")
    assert one.chain.in_use() is None
    assert one.asked() == []


def test_a_choice_that_left_the_configuration_is_a_sentence(house: Make) -> None:
    """A choice is not silently replaced by another provider."""
    one = house()
    one.chain.use(CLOUD, scope="user")
    profiles = {ref: item for ref, item in one.chain.config.profiles.items() if ref != CLOUD}
    changed = msgspec.structs.replace(one.chain.config, profiles=profiles, routes=(), effort=None)
    one.chain.live.held = one.chain.live.held._replace(config=changed)
    with pytest.raises(zc.ConfigError, match=r"groq\.free/large, chosen in the scope user, .* `zc use auto`"):
        one.chain.ask_sync(SIMPLE)


@pytest.mark.parametrize("scope", ["session", "agent"])
def test_a_choice_that_is_refused_changes_nothing(house: Make, scope: Scope) -> None:
    """The user's file is damaged, so nobody knows what comes first: what the scope held before stays."""
    one = house()
    one.chain.use(THIRD, scope=scope)
    file = ChoiceFile(one.chain.config)
    file.path.parent.mkdir(parents=True)
    file.path.write_bytes(b"{")
    with pytest.raises(zc.ConfigError, match="damaged"):
        one.chain.use(CLOUD, scope=scope)
    one.chain.use("auto", scope="user")
    assert str(one.chain.in_use()) == f"{THIRD}/dear (scope {scope})"
    one.chain.use("auto", scope=scope)


def test_auto_is_never_refused(house: Make) -> None:
    """Choices in two scopes that left the configuration can be given back one after the other, in either order."""
    one = house()
    for scope in ("user", "session"):
        one.chain.use(CLOUD, scope=scope)
    profiles = {ref: item for ref, item in one.chain.config.profiles.items() if ref != CLOUD}
    changed = msgspec.structs.replace(one.chain.config, profiles=profiles, routes=(), effort=None)
    one.chain.live.held = one.chain.live.held._replace(config=changed)
    used = one.chain.use("auto", scope="session")
    assert (used.choice, used.standing) == (None, None)
    assert str(used).startswith(
        f"session: nothing is chosen; {CLOUD}/large, chosen in the scope user, is no configured"
    )
    one.chain.use("auto", scope="user")
    assert one.chain.in_use() is None


def test_a_folder_that_cannot_be_written_is_a_sentence(house: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state folder is a file."""
    one = house()
    monkeypatch.setenv("ZC_STATE_DIR", str(Path(__file__)))
    with pytest.raises(zc.ConfigError, match="cannot be"):
        one.chain.use(CLOUD, scope="user")


def test_configurations_do_not_share_a_choice(tmp_path: Path) -> None:
    """One file for each ``zc.toml``; a choice for one project does not reach another."""
    files = []
    for name in ("one", "two"):
        config = Fleet({"a": [OK]}, tmp_path, toml=fleet_toml()).chain.config
        files.append(ChoiceFile(msgspec.structs.replace(config, path=tmp_path / name / "zc.toml")))
    files[0].write(Choice(ref="custom.b", model="m"))
    assert [file.read() for file in files] == [Choice(ref="custom.b", model="m"), None]


def test_nobody_reads_half_a_choice(tmp_path: Path) -> None:
    """Four writers and a reader: every choice that is read was written as a whole."""
    config = Fleet({"a": [OK]}, tmp_path, toml=fleet_toml()).chain.config
    choices = [Choice(ref="custom.b", model="m" * size) for size in (1, 50, 500, 5000)]
    start = threading.Barrier(5)

    def write(choice: Choice) -> None:
        start.wait()
        for _ in range(40):
            ChoiceFile(config).write(choice)

    threads = [threading.Thread(target=write, args=(choice,)) for choice in choices]
    for thread in threads:
        thread.start()
    start.wait()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        seen.add(ChoiceFile(config).read())
    assert seen <= {None, *choices}
    assert len(list(ChoiceFile(config).path.parent.iterdir())) == 1, "no draft is left behind"
