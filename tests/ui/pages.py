"""JupyterLab, Voila and Chromium as tests need them: started on free loopback ports, ended by their own ids."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests import ROOT

PICTURES = ROOT / "build" / "ui"
"""Where screenshots go; not part of the repository."""
CHROMIUM = os.environ.get("ZC_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
LIMIT_MS = 60_000.0
FOREIGN = re.compile(r"^(?!((https?|wss?)://127\.0\.0\.1[:/]|(data|blob|about):))")
"""Addresses that are not this machine's."""
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def missing(module: str) -> str | None:
    """Why a test that needs ``module`` and a browser cannot run here."""
    if find_spec(module) is None:
        return f"{module} is not installed (pip install '.[ui]')"
    return None if CHROMIUM else "there is no chromium here"


def notebook(*cells: str) -> dict[str, Any]:
    """A notebook of these code cells, without outputs."""
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{place}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for place, source in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


class Served:
    """A server process on a free loopback port, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        """What is started."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """Of the process and its kernels."""
        home = {name: str(self.folder / "home") for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
        own = {"ZC_STATE_DIR": str(self.folder / "state"), "PYTHONPATH": str(ROOT), "ZC_LOCAL_MODEL": "off"}
        return {**os.environ, **home, "JUPYTER_RUNTIME_DIR": str(self.folder / "run"), **own}

    def __enter__(self) -> Self:
        with (self.folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command(), cwd=self.folder, env=self.environment(), stdout=log, stderr=subprocess.STDOUT
            )
        end = time.monotonic() + LIMIT_MS / 1000
        while not self._answers():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)  # its end is noticed at once
                end = 0.0
            if time.monotonic() > end:
                self.__exit__(None, None, None)
                raise RuntimeError((self.folder / "server.log").read_text(encoding="utf-8")[-3000:])
        return self

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Lab(Served):
    """JupyterLab with its application in the window, so that tests give commands and open no menu."""

    module = "jupyterlab"

    def open(self, browser: Browser, name: str, **size: int) -> Seen:
        """A notebook of its folder, with its kernel started."""
        seen = browser.open(f"{self.url}/lab/workspaces/{Path(name).stem}", **size)
        seen.page.wait_for_function("window.jupyterapp !== undefined")
        seen.page.evaluate(
            """async (path) => {
                await window.jupyterapp.restored;
                const commands = window.jupyterapp.commands;
                const files = 'application:toggle-left-area';
                if (commands.isToggled(files)) await commands.execute(files);
                const widget = await commands.execute('docmanager:open', { path, factory: 'Notebook' });
                await widget.context.ready;
                await widget.context.sessionContext.ready;
            }""",
            name,
        )
        return seen

    def command(self) -> Sequence[str]:
        """See :class:`Served`."""
        settings = self.folder / "home" / "lab" / "user-settings" / "@jupyterlab"
        for name, text in {
            "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
            "apputils-extension/themes": {"theme": "JupyterLab Light"},
        }.items():
            path = settings / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(text), encoding="utf-8")
        options = {
            "ServerApp.port": self.port,
            "ServerApp.ip": "127.0.0.1",
            "IdentityProvider.token": "",
            "ServerApp.root_dir": self.folder,
            "ServerApp.open_browser": "False",
            "ServerApp.allow_root": "True",
            "ServerApp.shutdown_no_activity_timeout": 600,
        }
        return (
            sys.executable,
            "-m",
            self.module,
            "--expose-app-in-browser",
            *(f"--{name}={value}" for name, value in options.items()),
        )


class Notebook7(Lab):
    """Jupyter Notebook 7: one document a page."""

    module = "notebook"

    def open(self, browser: Browser, name: str, **size: int) -> Seen:
        """See :class:`Lab`."""
        seen = browser.open(f"{self.url}/notebooks/{name}", **size)
        seen.page.wait_for_function("window.jupyterapp?.shell.currentWidget?.context !== undefined")
        seen.page.evaluate(
            """async () => {
                await window.jupyterapp.restored;
                const { context } = window.jupyterapp.shell.currentWidget;
                await context.ready;
                await context.sessionContext.ready;
            }"""
        )
        return seen


class Voila(Served):
    """One notebook as a plain page."""

    def __init__(self, folder: Path, path: Path) -> None:
        super().__init__(folder)
        self.path = path

    def command(self) -> Sequence[str]:
        """See :class:`Served`."""
        own = (f"--port={self.port}", "--Voila.ip=127.0.0.1", "--no-browser")
        return (sys.executable, "-m", "voila", str(self.path), *own)


class Browser:
    """Chromium, headless, with a profile of its own."""

    def __init__(self, profile: Path) -> None:
        from playwright.sync_api import sync_playwright

        self._profile = profile
        self._driver = sync_playwright()

    def __enter__(self) -> Self:
        self._play = self._driver.__enter__()
        self._context = self._play.chromium.launch_persistent_context(
            str(self._profile), executable_path=CHROMIUM, headless=True, args=list(_FLAGS)
        )
        self._context.set_default_timeout(LIMIT_MS)
        self._context.route(FOREIGN, lambda route: route.abort())  # as on a machine without network
        return self

    def __exit__(self, *ended: object) -> None:
        self._context.close()
        self._driver.__exit__(*ended)

    def open(self, url: str, *, width: int = 1280, height: int = 1000) -> Seen:
        """A page, watched from its first request on."""
        page = self._context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        seen = Seen(page)
        page.goto(url)
        return seen


class Seen:
    """A page, and what it asked for and complained of."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    @property
    def foreign(self) -> list[str]:
        """Requests that left this machine."""
        return [url for url in self.requests if FOREIGN.match(url)]

    @property
    def ours(self) -> list[str]:
        """Errors that name this package's page side."""
        return [text for text in self.errors if re.search(r"zc|anywidget|blob:|widget", text, re.IGNORECASE)]

    def picture(self, name: str) -> Path:
        """A screenshot in the build folder."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")
        return PICTURES / f"{name}.png"

    def close(self) -> None:
        """Closes the page."""
        self.page.close()


def run_notebook(browser: Browser, lab: Lab, name: str, content: Mapping[str, Any], **size: int) -> Seen:
    """Opens a notebook in JupyterLab or Notebook 7 and runs all its cells; returns when they ran."""
    (lab.folder / name).write_text(json.dumps(content), encoding="utf-8")
    seen = lab.open(browser, name, **size)
    seen.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    return seen
