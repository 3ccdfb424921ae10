"""The vendors' own clients as judges of the lab: each must take it for its provider.

Their models are strict where they can be, and none of them retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.clients import SDKS, Sdk
from zc_notebooks.lab import Lab

SUM = "What is 17*23?"
RIGHT = "(simulated) 17*23 = 391"
WEATHER = "Use the get_weather tool for Oslo and 3 days."
PROVIDERS = {"google-genai": "google", "mistralai": "mistral"}
"""Providers of the fleet whose clients have another name."""
CALLED = {"tool_calls", "completed", "tool_use", "STOP", "TOOL_CALL", "stop"}
"""What the vendors call an end with tool calls."""
STOPPED = {"stop", "completed", "end_turn", "STOP", "COMPLETE"}


@pytest.fixture(scope="module")
def fleet() -> Iterator[Lab]:
    with Lab(Path(__file__).with_name("fleet.toml"), latency=0) as lab:
        yield lab


@pytest.fixture(scope="module", params=SDKS)
def connected(request: pytest.FixtureRequest, fleet: Lab) -> Iterator[tuple[str, Sdk]]:
    kind = SDKS[request.param]
    pytest.importorskip(kind.module, reason=f"the client {request.param.split()[0]} is not installed")
    first = request.param.split()[0]
    provider = PROVIDERS.get(first, first)
    sdk = kind(fleet.origin(provider), fleet.scenario.provider(provider).models[0].id)
    yield provider, sdk
    sdk.close()


@pytest.fixture
def provider(connected: tuple[str, Sdk], fleet: Lab) -> str:
    """The provider that the client speaks to, healthy."""
    fleet.set_fault(connected[0], None)
    return connected[0]


@pytest.fixture
def sdk(connected: tuple[str, Sdk], provider: str) -> Sdk:  # noqa: ARG001 (healthy)
    return connected[1]


def test_it_lists_the_models(sdk: Sdk) -> None:
    """The list holds the one model there is."""
    assert sdk.models() == [sdk.model]


def test_a_plain_answer(sdk: Sdk) -> None:
    """Text, finish reason and usage are read; thinking counts as output."""
    said = sdk.ask(SUM)
    assert (said.text, said.input_tokens, said.output_tokens, said.calls) == (RIGHT, 11, 18, [])
    assert said.finish in STOPPED


def test_a_stream_says_the_same(sdk: Sdk) -> None:
    """The pieces join to the whole answer, with the same finish reason and usage."""
    said = sdk.stream(SUM)
    assert (said.text, said.input_tokens, said.output_tokens, said.calls) == (RIGHT, 11, 18, [])
    assert said.finish in STOPPED
    assert said.pieces > 1


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_tool_call(sdk: Sdk, *, streamed: bool) -> None:
    """The call arrives with its name and its arguments as data, whole or in pieces."""
    said = (sdk.stream if streamed else sdk.ask)(WEATHER, tools=True)
    assert [(call.name, call.arguments) for call in said.calls] == [("get_weather", {"city": "Oslo", "days": 3})]
    assert (said.text, said.finish in CALLED) == ("", True)


def test_the_result_of_a_tool_is_answered(sdk: Sdk, fleet: Lab, provider: str) -> None:
    """The client's own form of the turn and its result come back as one conversation and get a text."""
    said = sdk.answer(WEATHER, sdk.ask(WEATHER, tools=True), "sunny, 21 degrees")
    assert "get_weather says: sunny, 21 degrees" in said.text
    conversation = fleet.requests_for(provider)[-1].conversation
    assert conversation is not None
    user, assistant, tool = conversation.request.messages
    assert (user.text, tool.text, tool.tool_call_id) == (WEATHER, "sunny, 21 degrees", assistant.tool_calls[0].id)
    assert assistant.tool_calls[0].arguments == {"city": "Oslo", "days": 3}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("status", "failure"), [(429, "rate"), (402, "status:402")], ids=["429", "402"])
def test_a_refusal_is_the_clients_own_exception(
    sdk: Sdk, fleet: Lab, provider: str, status: int, failure: str, *, streamed: bool
) -> None:
    """A limit and an empty balance raise the class the client has for them, once, with the status."""
    fleet.set_fault(provider, failure)
    before = len(fleet.requests_for(provider))
    with pytest.raises(sdk.error(sdk.errors[status])) as raised:
        (sdk.stream if streamed else sdk.ask)(SUM)
    assert type(raised.value) is sdk.error(sdk.errors[status])
    assert sdk.status(raised.value) == status
    assert len(fleet.requests_for(provider)) - before == 1


def test_an_error_inside_a_stream_is_seen(sdk: Sdk, fleet: Lab, provider: str) -> None:
    """An overload in mid-stream is the client's exception; Cohere's client hands on the finish reason instead."""
    fleet.set_fault(provider, "error_event:2")
    if sdk.midway is None:
        assert sdk.stream(SUM).finish == "ERROR"
        return
    with pytest.raises(sdk.error(sdk.midway)):
        sdk.stream(SUM)


def test_a_lost_connection_is_seen(sdk: Sdk, fleet: Lab, provider: str) -> None:
    """A socket closed in the middle of a chunk is an error of the connection for every client."""
    fleet.set_fault(provider, "cut:2")
    with pytest.raises(Exception, match=r"(?i)connection") as raised:
        sdk.stream(SUM)
    assert type(raised.value).__name__ in ("APIConnectionError", "RemoteProtocolError")
