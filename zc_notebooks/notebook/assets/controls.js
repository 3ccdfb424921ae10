// The control panel. State comes as the trait `panel`; prompts, answers and troubles come and go as messages.

let panels = 0;

function field(id, label, control, hint = null) {
  control.id = id;
  return h("div", { class: "zc-field" }, h("label", { for: id }, label), control, hint);
}

function options(select, values, empty, chosen) {
  const wanted = [["", empty], ...values.map((value) => [value, value])];
  if (chosen && !values.includes(chosen)) wanted.push([chosen, chosen]);
  const key = JSON.stringify(wanted);
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(...wanted.map(([value, text]) => h("option", { value }, text)));
  }
  select.value = chosen;
}

function buildRow(ref, send) {
  const nodes = {
    lamp: h("span", { class: "zc-lamp", "aria-hidden": "true" }),
    words: h("span"),
    marks: h("ul", { class: "zc-marks" }),
    left: h("td"),
    last: h("td"),
    model: h("div", { class: "zc-small" }),
    probe: button("Probe", ref, () => send({ do: "probe", ref })),
    clear: button("Clear mark", `of ${ref}`, () => send({ do: "clear", ref })),
    only: button("Only this one", `: ${ref}`, () => send({ do: "only", ref })),
  };
  nodes.row = h(
    "tr",
    { "data-ref": ref },
    h("th", { scope: "row" }, ref, nodes.model),
    h("td", {}, h("div", { class: "zc-state" }, nodes.lamp, nodes.words), nodes.marks),
    nodes.left,
    nodes.last,
    h("td", {}, h("div", { class: "zc-buttons" }, nodes.probe, nodes.clear, nodes.only)),
  );
  return nodes;
}

function updateRow(nodes, row, panel) {
  const [sign, kind] = STATES[row.lamp];
  say(nodes.lamp, sign);
  nodes.lamp.dataset.kind = kind;
  say(nodes.words, row.busy ? "asking …" : row.words);
  say(nodes.model, `${row.model} · ${row.tier}`);
  say(nodes.left, row.headroom);
  say(nodes.last, row.last);
  const key = JSON.stringify(row.marks);
  if (nodes.marks.dataset.key !== key) {
    nodes.marks.dataset.key = key;
    nodes.marks.replaceChildren(
      ...row.marks.map((mark) => h("li", {}, h("span", { class: "zc-count", "data-until": mark.until }), ` ${mark.words}`)),
    );
  }
  able(nodes.probe, !row.busy && !panel.progress);
  able(nodes.clear, row.marks.length > 0);
  const alone = !panel.fallback && panel.start.split("/")[0] === row.ref;
  nodes.only.setAttribute("aria-pressed", alone ? "true" : "false");
}

function render({ model, el }) {
  const id = `zc-${++panels}`;
  const panel = () => model.get("panel");
  const kernel = link(model);
  const send = (message) => kernel.send({ seen: panel().version, ...message });
  const set = (name, value) => send({ do: "set", name, value });

  const says = h("p", { class: "zc-says", role: "status" });
  const problem = h("div", { class: "zc-alert", role: "status", hidden: true });
  const notice = h("p", { class: "zc-notice", role: "status" });
  const fallback = h("input", { type: "checkbox", onchange: () => set("fallback", fallback.checked) });
  const start = h("select", { onchange: () => set("start", start.value || null) });
  const hint = h("select", { onchange: () => set("hint", hint.value || null) });
  const budget = h("input", {
    type: "text", inputmode: "decimal", placeholder: "no limit", size: 9, onchange: () => set("budget_usd", budget.value),
  });
  const tiers = h("fieldset", { class: "zc-tiers" }, h("legend", {}, "Allowed tiers"));
  const probeAll = button("Probe all", "", () => send({ do: "probe_all" }));
  const bar = h("progress", { "aria-label": "Progress of Probe all" });
  const barWords = h("span", { role: "status" });
  const progress = h("span", { class: "zc-progress", hidden: true }, bar, barWords);
  const body = h("tbody");
  const prompt = h("textarea", { rows: 3, placeholder: "Ask something; Ctrl+Enter sends it" });
  const ask = button("Ask", "", () => prompt.value.trim() && send({ do: "send", prompt: prompt.value }), "zc-main");
  const stop = button("Stop", "", () => send({ do: "stop" }));
  const status = h("p", { class: "zc-status", role: "status" });
  const failure = alertBox();
  const answer = h("div", { class: "zc-answer", role: "region", "aria-label": "Answer", tabindex: "0", hidden: true });
  const lines = h("ol", { class: "zc-lines", role: "log", "aria-label": "Attempts and hops", hidden: true });
  const codeText = h("pre", { tabindex: "0", "aria-label": "The code" });
  const copy = button("Copy", "code", () => navigator.clipboard?.writeText(codeText.textContent));
  const code = h(
    "details", { class: "zc-code", ontoggle: () => code.open && kernel.send({ do: "code" }) },
    h("summary", {}, "Code of what was pressed"), copy, codeText,
  );

  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      ask.click();
    }
  });

  const children = [
    h(
      "div", { class: "zc-settings", role: "group", "aria-label": "Settings of the next call" },
      h("div", { class: "zc-field zc-check" }, fallback, h("label", { for: `${id}-fallback` }, "Fallback")),
      field(`${id}-start`, "Start candidate", start),
      field(`${id}-hint`, "Hint", hint),
      field(`${id}-budget`, "Budget per call, USD", budget),
      tiers,
    ),
    problem, says,
    h(
      "table", { class: "zc-providers" },
      h("caption", {}, h("span", {}, "Providers"), probeAll, progress, notice),
      head(["Provider", "State", "Left, as stated", "Last outcome", "Actions"]),
      body,
    ),
    h(
      "div", { class: "zc-ask" },
      field(`${id}-prompt`, "Prompt", prompt),
      h("div", { class: "zc-buttons" }, ask, stop, status),
    ),
    failure, answer, lines, code,
  ];
  fallback.id = `${id}-fallback`;

  const rows = new Map(), boxes = new Map();
  let heardAt = performance.now(), text = "";

  function tierBoxes(state) {
    for (const tier of state.choices.tiers) {
      if (!boxes.has(tier)) {
        const box = h("input", {
          type: "checkbox", id: `${id}-tier-${tier}`,
          onchange: () => set("tiers", [...boxes].filter(([, each]) => each.checked).map(([name]) => name)),
        });
        boxes.set(tier, box);
        tiers.append(h("span", { class: "zc-check" }, box, h("label", { for: box.id }, tier)));
      }
      boxes.get(tier).checked = state.tiers.includes(tier);
    }
  }

  function tick() {
    const now = panel().now + (performance.now() - heardAt);
    for (const node of body.querySelectorAll("[data-until]")) say(node, `back in ${countdown(Number(node.dataset.until) - now)}:`);
  }

  function showPanel() {
    const state = panel();
    if (!state.rows) return;
    heardAt = performance.now();
    say(says, state.says);
    say(problem, state.problem && `⚠ ${state.problem}`);
    problem.hidden = !state.problem;
    say(notice, state.notice);
    fallback.checked = state.fallback;
    options(start, state.choices.start, "the chain's own first", state.start);
    options(hint, state.choices.hint, "none", state.hint);
    if (document.activeElement !== budget || !budget.value) budget.value = state.budget;
    tierBoxes(state);
    progress.hidden = !state.progress;
    if (state.progress) {
      bar.max = Math.max(state.progress.total, 1);
      bar.value = state.progress.done;
      say(barWords, state.progress.words);
    }
    able(probeAll, !state.progress);
    able(ask, !state.asking);
    able(stop, state.asking);
    for (const [ref, nodes] of rows) if (!state.rows.some((row) => row.ref === ref)) { nodes.row.remove(); rows.delete(ref); }
    for (const row of state.rows) {
      if (!rows.has(row.ref)) { rows.set(row.ref, buildRow(row.ref, send)); body.append(rows.get(row.ref).row); }
      updateRow(rows.get(row.ref), row, state);
    }
    tick();
    if (code.open) kernel.send({ do: "code" });
  }

  function showTurn(turn) {
    text = text.slice(0, turn.keep) + turn.text;
    status.dataset.phase = turn.phase;
    failure.hidden = turn.phase !== "failed";
    say(status, turn.phase === "failed" ? "failed" : turn.words);
    if (turn.phase === "failed") failure.replaceChildren(h("p", {}, h("strong", {}, "✕ "), turn.words), turn.rows.length ? table(turn.columns, turn.rows) : "");
    answer.hidden = !text;
    answer.dataset.phase = turn.phase;
    say(answer, text);
    lines.hidden = !turn.lines.length;
    if (lines.childElementCount > turn.lines.length) lines.replaceChildren();
    turn.lines.forEach((line, place) => {
      if (!lines.children[place]) lines.append(h("li", {}, line));
      else say(lines.children[place], line);
    });
    lines.scrollTop = lines.scrollHeight;
  }

  function hear(message) {
    if (message.kind === "turn") showTurn(message);
    else if (message.kind === "code") say(codeText, message.text || "# nothing was pressed yet");
  }

  kernel.lost.push(() => {
    for (const { lamp, words } of rows.values()) {
      [lamp.textContent, lamp.dataset.kind] = STATES.unknown;
      say(words, "unknown");
    }
    progress.hidden = true;
    if (status.dataset.phase === "asking") say(status, "cut off");
  });

  const end = page({ model, el, kernel }, "panel", "Controls of the provider chain", children, showPanel, hear);
  const ticking = setInterval(tick, 1000);
  return () => {
    clearInterval(ticking);
    end();
  };
}

export default { render };
