"""What aiohttp and the system raise, told as one kind of failure that says whether the request may have arrived."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Final, Literal

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError

from zc_notebooks.errors import TransportFailure
from zc_notebooks.redact import short
from zc_notebooks.transport_address import Address

Kind = Literal["connect", "timeout", "read", "write", "protocol", "refused_url", "too_large"]

_BEFORE: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientConnectorCertificateError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ServerFingerprintMismatch,
)
"""Raised while connecting: nothing was sent to the provider."""


def failure(error: Exception, place: Address, ran_out: Callable[[], str], *, sent: bool) -> TransportFailure:
    """The one failure that leaves the transport.

    Args:
        error: What was raised.
        place: Where the request was to go.
        ran_out: Words for the time limit that applied.
        sent: Whether the connection was ready, so that the server may have seen the request.
    """
    if isinstance(error, TransportFailure):
        return error
    if isinstance(error, TimeoutError):
        return _made("timeout", ran_out(), place, sent=sent)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return _made("refused_url", "the address cannot be used", place, sent=False)
    if isinstance(error, _BEFORE):
        return _made("connect", f"no connection: {_reason(error)}", place, sent=False)
    if not sent and isinstance(error, OSError | aiohttp.ClientConnectionError):
        return _made("connect", f"no connection: {_reason(error)}", place, sent=False)
    kind, words = _while_answering(error)
    return _made(kind, words, place, sent=sent)


def _made(kind: Kind, words: str, place: Address, *, sent: bool) -> TransportFailure:
    return TransportFailure(short(f"{place.name}: {words}", limit=300), kind=kind, sent=sent)


def _while_answering(error: Exception) -> tuple[Kind, str]:
    """The connection stood: what the server, or the way to it, did."""
    if isinstance(error, aiohttp.ClientConnectionResetError):
        return "write", "the connection was lost while the request was written"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "read", "the server closed the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return _body_failure(error)
    if isinstance(error, aiohttp.ClientResponseError):
        return "protocol", f"the answer is not HTTP: {error.message}"
    if isinstance(error, OSError):
        return "read", f"the connection was lost: {_reason(error)}"
    return "protocol", f"{type(error).__name__}: {error}"


def _body_failure(error: aiohttp.ClientPayloadError) -> tuple[Kind, str]:
    """A body that ended early, or one that is not what its headers say."""
    if isinstance(error.__cause__, ContentEncodingError):
        return "protocol", f"the body cannot be read: {error.__cause__.message}"
    return "read", "the connection ended before the body was complete"


def _reason(error: BaseException) -> str:
    """The system's own words where there are any."""
    inner = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    if isinstance(inner, socket.gaierror):
        return f"the host name was not found ({inner.strerror or inner})"
    if isinstance(inner, OSError) and inner.errno and type(inner).__module__ != "ssl" and inner.errno > 0:
        return os.strerror(inner.errno)
    return str(inner) or type(inner).__name__
