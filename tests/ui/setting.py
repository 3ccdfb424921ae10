"""Cells that tests open, and what they read from a page."""

from __future__ import annotations

from typing import Any

SETUP = """
import time
from pathlib import Path
import zc_notebooks as zc
from zc_notebooks.chain import Chain
from zc_notebooks.config.load import parse_config
from zc_notebooks.lab import Lab
from zc_notebooks.reliability.cooldown import Marks

lab = Lab("default", seed=1).start()
config = parse_config(lab.config_text(), base_dir=Path("."), source="the lab")
"""
ALONE = """
chain = Chain(config, ledger=Path("ledger-alone"), marks=Marks(None, clock=zc.SystemClock()))
"""
SHARED = """
chain = Chain(config, ledger=Path("ledger-shared"), marks=Marks(Path("marks-shared.sqlite"), clock=zc.SystemClock()))
"""
CONTROLS = "controls = zc.controls(chain)\ncontrols"
BOARD = "board = zc.board(chain)\nboard"

RUN = """async (code) => {
    const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
    const future = kernel.requestExecute({ code, store_history: false });
    let printed = '';
    future.onIOPub = (message) => {
        if (message.header.msg_type === 'stream') printed += message.content.text;
        if (message.header.msg_type === 'error') printed += message.content.evalue;
    };
    await future.done;
    return printed;
}"""
"""Runs code in the open notebook's kernel and returns what it printed."""

CONTRAST = """() => {
    const channels = (text) => text.match(/[\\d.]+/g).map(Number);
    const parse = (text) => {
        if (!text.startsWith('color(')) return channels(text);
        const [red, green, blue, alpha = 1] = channels(text.replace('color(srgb', ''));
        return [red * 255, green * 255, blue * 255, alpha];
    };
    const over = (top, under) => {
        const alpha = top.length > 3 ? top[3] : 1;
        return [0, 1, 2].map((place) => top[place] * alpha + under[place] * (1 - alpha));
    };
    const ground = (node) => {
        const layers = [];
        for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
        return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
    };
    const light = (rgb) => {
        const [red, green, blue] = rgb.map((value) => value / 255).map(
            (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const found = [];
    for (const node of document.querySelectorAll('.zc-panel *, .zc *')) {
        const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
        if (!own || !node.getClientRects().length || node.closest('[aria-disabled=true]')) continue;
        const behind = ground(node);
        const colour = node.ownerSVGElement ? getComputedStyle(node).fill : getComputedStyle(node).color;
        const [one, two] = [light(over(parse(colour), behind)), light(behind)].sort((a, b) => b - a);
        const ratio = (one + 0.05) / (two + 0.05);
        if (ratio < 4.5) found.push([node.textContent.slice(0, 40), ratio]);
    }
    return found;
}"""
"""Texts of panels and rich objects whose contrast is below WCAG's AA."""

OVERFLOW = """() => [...document.querySelectorAll('.zc-panel')].map((panel) => {
    const inside = Math.max(...[...panel.querySelectorAll('*')].map((node) => node.getBoundingClientRect().right));
    return Math.round(inside - panel.getBoundingClientRect().right);
})"""
"""Pixels by which anything sticks out of the panel on the right; negative is inside."""

_NAME = "(node.getAttribute('aria-label') || node.labels?.[0]?.textContent || node.textContent).trim()"
TAB_ORDER = (
    f"() => {{ const named = (node) => {_NAME};"
    + """
    const panel = document.querySelector('.zc-panel');
    const can = [...panel.querySelectorAll('button, input, select, textarea, summary, [tabindex]')];
    return can.filter((node) => node.checkVisibility({ contentVisibilityAuto: true })).map(named);
}"""
)
"""Names of everything Tab reaches in the panel, in the order of the page."""


def names_by_tab(page: Any, count: int) -> list[str]:
    """Names of what Tab reaches, beginning before the panel's first control."""
    page.locator(".zc-panel input, .zc-panel button").first.focus()
    names = []
    for _ in range(count):
        names.append(page.evaluate(f"() => {{ const node = document.activeElement; return {_NAME}; }}"))
        page.keyboard.press("Tab")
    return names
