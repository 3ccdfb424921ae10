"""One HTTP request, sent once: the only door to the network.

It stands on asyncio's sockets and TLS and on llhttp (httptools): httpx's pool collapses under 16 tasks and more, and
neither it nor aiohttp leaves a chain the time and the import budget it needs (figures: ``tests/perf/README.md``).
What holds for every request:

* HTTP/1.1 keep-alive, one pool per event loop. A pool closes with its loop, or with :meth:`AsyncTransport.aclose`.
* Nothing is sent twice. An idle connection is looked at before it is used again, and left when it took not one byte;
  once a request has been written, a lost connection is a failure with ``sent=True``, because the provider may have done
  the work and billed it.
* Redirects are not followed: a 3xx is an answer like any other, and no key travels to another host.
* TLS is verified. Plain http goes to this machine only, unless the caller allows it.
* Whatever goes wrong is a :class:`~zc_notebooks.errors.TransportFailure`; only a cancel passes through.
"""

from zc_notebooks.transport.answer import MAX_ERROR_BODY as MAX_ERROR_BODY
from zc_notebooks.transport.client import KEEPALIVE_S as KEEPALIVE_S
from zc_notebooks.transport.client import MAX_BODY as MAX_BODY
from zc_notebooks.transport.client import MAX_CONNECTIONS as MAX_CONNECTIONS
from zc_notebooks.transport.client import MAX_STREAM as MAX_STREAM
from zc_notebooks.transport.client import AsyncTransport as AsyncTransport
from zc_notebooks.transport.client import StreamedResponse as StreamedResponse
from zc_notebooks.transport.client import SyncTransport as SyncTransport
