"""The catalogue entry ``local``: an alias is all it needs."""

from __future__ import annotations

import pytest

from tests.local.helpers import profiles
from zc_notebooks.config.catalogue import families
from zc_notebooks.local.model import MODELS, SMOLLM2, managed_name


@pytest.mark.parametrize("block", ["", 'model = "smollm2"\n'])
def test_an_alias_is_enough(block: str) -> None:
    """No key, no address, no price: all of it is known."""
    made = profiles(f"[providers.local.smollm2]\n{block}")["local.smollm2"]
    assert (made.base_url, made.model, made.wire) == ("managed://smollm2/v1", "smollm2", "openai_chat")
    assert (made.keyless, made.tier, made.pool) == (True, "local", "local@managed://smollm2")
    assert (made.context_window, made.pricing) == (SMOLLM2.context, {"*": 0.0})
    assert not made.capabilities.native_tools
    assert not made.capabilities.vision


@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic_messages"])
def test_its_wires(wire: str) -> None:
    """Each at the same address."""
    made = profiles(f'[providers.local.x]\nwire_api = "{wire}"\n')["local.x"]
    assert (made.wire, made.base_url) == (wire, "managed://smollm2/v1")


def test_what_a_block_says_holds() -> None:
    """The catalogue's defaults stand back behind it, an address of a server that runs already included."""
    block = 'model = "other"\ncontext_window = 2048\nuri = "http://127.0.0.1:8081"\n'
    made = profiles(f"[providers.local.x]\n{block}")["local.x"]
    assert (made.model, made.context_window, made.base_url) == ("other", 2048, "http://127.0.0.1:8081/v1")


def test_the_catalogue_and_the_model_agree() -> None:
    """Name, window and the pip lines stand in both places."""
    family = families()["local"]
    assert managed_name(family.base_url or "") in MODELS
    assert family.defaults["model"] == SMOLLM2.name
    assert family.defaults["context_window"] == SMOLLM2.context
    assert " && ".join(SMOLLM2.install) in family.notes
    assert f"{SMOLLM2.context:,} tokens" in family.limits


def test_every_local_server_says_how_to_start_it() -> None:
    """Also the sentence that goes into an error line."""
    assert all(
        family.start or managed_name(family.base_url or "")
        for family in families().values()
        if family.tier == "local" and family.base_url
    )
