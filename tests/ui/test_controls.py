"""The control panel in JupyterLab and in Notebook 7, clicked as a person would; results are read from the page."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from tests.ui.pages import Browser, Lab, Seen, notebook, run_notebook
from tests.ui.setting import ALONE, BOARD, CONTRAST, CONTROLS, OVERFLOW, RUN, SETUP, SHARED, TAB_ORDER, names_by_tab

PROMPT = "Tell me about the lighthouse of Alexandria"


@pytest.fixture(scope="module", params=["lab", "notebook_7"])
def jupyter(request: pytest.FixtureRequest) -> Lab:
    """Each of the two in turn."""
    found: Lab = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def panel(browser: Browser, jupyter: Lab) -> Iterator[Seen]:
    """One notebook with a panel. Afterwards: no request left this machine, and no error of ours was logged."""
    seen = run_notebook(browser, jupyter, "controls.ipynb", notebook(SETUP + ALONE, CONTROLS), width=1280, height=1400)
    seen.page.get_by_role("button", name="Probe all").wait_for()
    yield seen
    assert seen.foreign == []
    assert seen.ours == []
    seen.close()


@pytest.fixture(autouse=True)
def _fresh(panel: Seen) -> None:
    """Marks, settings and faults as at the start."""
    panel.page.evaluate(
        RUN,
        "lab.reset(); chain.clear(everything=True); lab.set_fault('e', None); "
        "controls.state.set(fallback=True, start=None, tiers=None, budget_usd=None)",
    )
    panel.page.get_by_text("Fallback is on:").wait_for()


def ask(seen: Seen, prompt: str = PROMPT) -> None:
    """Types a prompt and presses Ask."""
    seen.page.get_by_label("Prompt").fill(prompt)
    seen.page.get_by_role("button", name="Ask", exact=True).click()


def test_an_answer_with_its_hops(panel: Seen) -> None:
    """The chain hops, the page says from whom to whom and why, and who answered at what cost."""
    ask(panel)
    panel.page.get_by_text("answered by deepseek.prepaid/deepseek-v4-flash").wait_for()
    hops = panel.page.get_by_role("log", name="Attempts and hops")
    assert "hop from openrouter.credit/openai/gpt-oss-120b to" in hops.inner_text()
    assert PROMPT in panel.page.get_by_role("region", name="Answer").inner_text()
    panel.picture("controls-answer")


def test_fallback_off_fails_loudly(panel: Seen) -> None:
    """It says so before; then one candidate is asked, and its failure stands there as an alert."""
    panel.page.get_by_label("Fallback").uncheck()
    panel.page.get_by_text("Fallback is off: the next call goes to groq.free/openai/gpt-oss-120b alone").wait_for()
    ask(panel)
    alert = panel.page.get_by_role("alert").filter(has_text="Fallback is off, and the one candidate gave no answer")
    alert.wait_for()
    assert "http 429" in alert.inner_text()
    asked = panel.page.evaluate(RUN, "print({request.provider for request in lab.requests})")
    assert asked.strip() == "{'a'}"
    panel.picture("controls-fallback-off")


def test_probe_one(panel: Seen) -> None:
    """One provider is asked, and its row says how it stands."""
    row = panel.page.locator("tr[data-ref='mistral.metered']")
    row.get_by_role("button", name="Probe mistral.metered").click()
    row.get_by_text("limited until about").wait_for()
    row.get_by_text("back in").wait_for()
    asked = panel.page.evaluate(RUN, "print({request.provider for request in lab.requests})")
    assert asked.strip() == "{'d'}"


def test_clear_a_mark(panel: Seen) -> None:
    """The button of a marked row takes its mark away; without one it cannot be pressed."""
    row = panel.page.locator("tr[data-ref='groq.free']")
    clear = row.get_by_role("button", name="Clear mark of groq.free")
    row.get_by_role("button", name="Probe groq.free").click()
    row.get_by_text("limited until").wait_for()
    assert clear.get_attribute("aria-disabled") == "false"
    clear.click()
    panel.page.get_by_text("groq.free: 1 mark cleared").wait_for()
    row.get_by_text("not asked since its limit").wait_for()
    assert clear.get_attribute("aria-disabled") == "true"


def test_stop_in_mid_stream(panel: Seen) -> None:
    """What was shown stays, and the provider's connection is closed: nobody else is asked."""
    panel.page.evaluate(RUN, "lab.set_fault('e', 'slow:0.4', times=1)")
    panel.page.locator("tr[data-ref='deepseek.prepaid']").get_by_role("button", name="Only this one").click()
    panel.page.get_by_text("the next call goes to deepseek.prepaid/deepseek-v4-flash alone").wait_for()
    ask(panel)
    answer = panel.page.get_by_role("region", name="Answer")
    answer.get_by_text("(simulated)").wait_for()
    panel.picture("controls-streaming")
    panel.page.get_by_role("button", name="Stop").click()
    panel.page.get_by_text("nothing else was tried").wait_for()
    assert "(simulated)" in answer.inner_text()
    rows = panel.page.evaluate(RUN, "print(chain.ledger.tail(1)['status'].to_list(), len(lab.requests))")
    assert rows.strip() == "['cancelled'] 1"


def test_stop_works_while_a_cell_blocks(panel: Seen) -> None:
    """The panel has its own loop: a cell that holds the kernel's neither stalls an answer nor its Stop."""
    panel.page.evaluate(RUN, "lab.set_fault('e', 'slow:0.4', times=1); controls.state.only('deepseek.prepaid')")
    ask(panel)
    panel.page.get_by_role("region", name="Answer").get_by_text("(simulated)").wait_for()
    blocking = (
        "end = time.monotonic() + 30\n"
        "while controls.state.asking and time.monotonic() < end:\n    time.sleep(0.1)\n"
        "print(controls.state.turn.phase)"
    )
    panel.page.evaluate(f"(code) => {{ window.zcBlocked = ({RUN})(code); }}", blocking)
    panel.page.get_by_role("button", name="Stop").click()
    panel.page.get_by_text("nothing else was tried").wait_for()
    assert panel.page.evaluate("window.zcBlocked").strip() == "stopped"


def test_200_quick_clicks(panel: Seen) -> None:
    """As fast as the page takes them: one probe, and no task is left."""
    panel.page.evaluate(
        """() => { const probe = document.querySelector("tr[data-ref='openai.prepaid'] button");
        for (let time = 0; time < 200; time++) probe.click(); }"""
    )
    panel.page.get_by_text("openai.prepaid: reachable").wait_for()
    counted = "print(sum(request.method == 'POST' for request in lab.requests), "
    report = panel.page.evaluate(RUN, f"{counted}set(controls.tasks.running) - {{'following'}})")
    assert report.strip() == "1 set()"


def test_a_callback_that_raises_is_shown(panel: Seen) -> None:
    """One sentence, the details to unfold, and away with it when it was read."""
    panel.page.evaluate(RUN, "def broken(row): raise RuntimeError('my hook is broken')\nchain.on_attempt = broken")
    ask(panel)
    alert = panel.page.get_by_role("alert").filter(has_text="the prompt did not work: RuntimeError: my hook is broken")
    alert.wait_for()
    assert not alert.get_by_text("Traceback").is_visible()
    alert.get_by_text("Details").click()
    alert.get_by_text("Traceback").wait_for()
    panel.picture("controls-trouble")
    alert.get_by_role("button", name="Dismiss").click()
    alert.wait_for(state="hidden")
    panel.page.evaluate(RUN, "chain.on_attempt = None")


def test_what_was_pressed_is_code(panel: Seen) -> None:
    """The page shows it, and it runs in a cell of the same notebook."""
    panel.page.evaluate(RUN, "controls.state.only('deepseek.prepaid')")
    panel.page.get_by_text("Code of what was pressed").click()
    code = panel.page.get_by_label("The code")
    code.get_by_text("import zc_notebooks as zc").wait_for()
    text = code.inner_text()
    assert "await chain.probe(" in text
    assert 'options["fallback"] = False' in text
    panel.page.get_by_text("Code of what was pressed").first.click()
    ran = panel.page.evaluate(
        RUN,
        "options = {'start': 'openai.prepaid'}\nprint((await chain.ask('x', **options)).served.provider_ref)",
    )
    assert ran.strip() == "openai.prepaid"


def test_every_control_has_a_name_and_its_place_by_tab(panel: Seen) -> None:
    """Tab goes through the panel as it reads, and no two controls that do different things have one name."""
    names = panel.page.evaluate(TAB_ORDER)
    assert all(names)
    assert len(set(names)) == len(names)
    assert names_by_tab(panel.page, len(names)) == names
    assert names[:4] == ["Fallback", "Start candidate", "Hint", "Budget per call, USD"]


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_contrast_and_width(panel: Seen, theme: str) -> None:
    """AA in both themes; at 900 px nothing sticks out; in both every lamp has its words."""
    panel.page.locator("tr[data-ref='groq.free']").get_by_role("button", name="Probe groq.free").click()
    panel.page.locator("tr[data-ref='groq.free']").get_by_text("limited until").wait_for()
    dark = "true" if theme == "Dark" else "false"
    change = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
    panel.page.evaluate(change, f"JupyterLab {theme}")
    panel.page.locator(f".zc-panel[data-dark={dark}]").wait_for()
    panel.page.locator("#jupyterlab-splash").wait_for(state="detached")
    assert panel.page.evaluate(CONTRAST) == []
    panel.picture(f"controls-{theme.lower()}")
    panel.page.set_viewport_size({"width": 900, "height": 1400})
    panel.page.wait_for_function("document.querySelector('.zc-panel').getBoundingClientRect().width < 800")
    assert max(panel.page.evaluate(OVERFLOW)) <= 0
    panel.picture(f"controls-900-{theme.lower()}")
    panel.page.set_viewport_size({"width": 1280, "height": 1400})
    for words in panel.page.locator(".zc-state").all_inner_texts():
        assert len(words.split()) >= 2, words


def test_a_saved_notebook_holds_no_prompt_and_no_answer(panel: Seen, jupyter: Lab) -> None:
    """Not even with the widgets' state saved into the file."""
    ask(panel, "the-prompt-of-the-author")
    panel.page.get_by_role("region", name="Answer").get_by_text("the-prompt-of-the-author").wait_for()
    saved = panel.page.evaluate(
        """async () => {
            const { commands, shell } = window.jupyterapp;
            await commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState');
            await commands.execute('docmanager:save');
            return shell.currentWidget.context.path;
        }"""
    )
    text = (jupyter.folder / saved).read_text(encoding="utf-8")
    assert "application/vnd.jupyter.widget-state+json" in json.loads(text)["metadata"].get("widgets", {})
    assert "groq.free" in text
    assert "the-prompt-of-the-author" not in text
    assert "(simulated)" not in text


def test_a_page_that_is_loaded_again_shows_it_all(panel: Seen) -> None:
    """The kernel still has the panel: its rows and the last answer come back."""
    ask(panel)
    panel.page.get_by_text("answered by").wait_for()
    panel.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    panel.page.goto(panel.page.url.split("?")[0])
    panel.page.get_by_text("answered by").wait_for()
    assert PROMPT in panel.page.get_by_role("region", name="Answer").inner_text()


def test_a_kernel_restart_in_mid_stream_leaves_a_row_and_no_ghost(browser: Browser, jupyter: Lab) -> None:
    """The row says cancelled (or cut), and nothing goes on after it."""
    content = notebook(
        SETUP + SHARED.replace("ledger-shared", "ledger-restart").replace("marks-shared", "marks-restart"),
        CONTROLS,
        BOARD,
    )
    seen = run_notebook(browser, jupyter, "restart.ipynb", content)
    seen.page.evaluate(RUN, "lab.set_fault('e', 'slow:0.4', times=1); controls.state.only('deepseek.prepaid')")
    seen.page.get_by_text("deepseek.prepaid/deepseek-v4-flash alone").wait_for()
    ask(seen)
    seen.page.get_by_role("region", name="Answer").get_by_text("(simulated)").wait_for()
    seen.page.evaluate("window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.restart()")
    found = "import zc_notebooks as zc; print(zc.Ledger('ledger-restart').attempts()['status'].to_list())"
    assert seen.page.evaluate(RUN, found).strip() in ("['cancelled']", "['stream_cut']")
    assert_nothing_can_be_pressed(seen)
    assert seen.page.get_by_text("cut off").is_visible()
    seen.picture("controls-gone")
    seen.close()


def test_a_kernel_that_died_leaves_no_ghost(browser: Browser, jupyter: Lab) -> None:
    """Killed from outside: panel and board say so, and nothing can be pressed."""
    seen = run_notebook(browser, jupyter, "killed.ipynb", notebook(SETUP + ALONE, CONTROLS, BOARD))
    seen.page.get_by_role("button", name="Probe all").wait_for()
    green = seen.page.locator(".zc-providers .zc-lamp[data-kind=ok]")
    seen.page.evaluate(RUN, "await controls.state.probe('deepseek.prepaid')")
    green.first.wait_for()
    kernel = int(seen.page.evaluate(RUN, "import os; print(os.getpid())"))
    os.kill(kernel, signal.SIGKILL)
    assert_nothing_can_be_pressed(seen)
    assert green.count() == 0
    seen.close()


def assert_nothing_can_be_pressed(seen: Seen) -> None:
    """Panel and board say that their kernel is gone."""
    for what in ("panel", "board"):
        seen.page.get_by_text(f"The kernel of this {what} is gone: run its cell again.").wait_for()
    assert seen.page.locator(".zc-panel button:not([aria-disabled=true])").count() == 0
    assert seen.page.locator(".zc-panel :is(input, select, textarea):enabled").count() == 0
