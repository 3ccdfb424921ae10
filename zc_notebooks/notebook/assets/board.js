// The live board: everything comes as the trait `panel`; the page adds only the line of now.

const SIGNS = {
  answered: ["✓", "ok"], "rate limit": ["◐", "limited"], "quota spent": ["◐", "limited"], "no balance": ["✕", "off"],
  refused: ["✕", "off"], "provider trouble": ["✕", "off"], "no good answer": ["✕", "off"], cancelled: ["■", "unknown"],
  skipped: ["–", "unknown"],
};
const NS = "http://www.w3.org/2000/svg";
let drawn = 0;

function s(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const hour = (ms) => new Date(ms).toISOString().slice(11, 16);

/** Lanes of outages: a full bar up to now, a hatched one until the stated end, the words beside it. */
function timeline(state) {
  const lanes = [...new Set(state.outages.map((item) => item.lane))];
  const first = Math.max(state.begin, Math.min(...state.outages.map((item) => item.begin)) - 600_000);
  const ends = state.outages.filter((item) => item.end === null && item.until !== null).map((item) => item.until);
  const last = Math.min(Math.max(state.now, ...ends), state.now + (state.now - first) + 3_600_000);
  const left = 250, width = 1000, right = width - 12, row = 30, top = 22, height = top + lanes.length * row + 6;
  const x = (ms) => left + ((Math.min(Math.max(ms, first), last) - first) / Math.max(last - first, 1)) * (right - left);
  const id = `zc-hatch-${++drawn}`;
  const svg = s(
    "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "zc-timeline",
      "aria-label": `Exhaustion timeline. ${state.outages.map((item) => `${item.lane}: ${item.words}`).join("; ")}` },
    s("defs", {}, s("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect", { width: 2, height: 6, fill: "currentColor", opacity: 0.55 }))),
  );
  const step = [1, 5, 15, 30, 60, 120, 240, 480].map((m) => m * 60_000).find((ms) => (last - first) / ms <= 8) ?? 86_400_000;
  for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
    svg.append(s("line", { x1: x(at), x2: x(at), y1: top - 4, y2: height, class: "zc-grid" }));
    if (Math.abs(x(at) - x(state.now)) > 60) svg.append(s("text", { x: x(at), y: 12, "text-anchor": "middle" }, hour(at)));
  }
  lanes.forEach((lane, place) => {
    const y = top + place * row;
    const name = lane.length > 36 ? `${lane.slice(0, 35)}…` : lane;
    svg.append(s("text", { x: left - 10, y: y + 18, "text-anchor": "end" }, s("title", {}, lane), name));
    for (const item of state.outages.filter((each) => each.lane === lane)) {
      const end = item.end ?? state.now;
      svg.append(s("rect", { x: x(item.begin), y: y + 5, width: Math.max(x(end) - x(item.begin), 3), height: 18, class: "zc-out", "data-kind": item.kind }, s("title", {}, item.words)));
      if (item.end === null && item.until !== null)
        svg.append(s("rect", { x: x(state.now), y: y + 5, width: Math.max(x(item.until) - x(state.now), 1), height: 18, class: "zc-will", fill: `url(#${id})` }, s("title", {}, item.words)));
    }
  });
  svg.append(
    s("line", { x1: x(state.now), x2: x(state.now), y1: top - 6, y2: height, class: "zc-now" }),
    s("text", { x: x(state.now), y: 12, "text-anchor": x(state.now) > right - 60 ? "end" : "middle", class: "zc-strong" }, `now ${hour(state.now)} UTC`),
  );
  return svg;
}

function attempt(item) {
  const [sign, kind] = SIGNS[item.outcome] ?? ["?", "unknown"];
  return h(
    "tr", {},
    h("td", {}, item.t),
    h("td", {}, `${item.ref}/${item.model}`),
    h("td", {}, h("div", { class: "zc-state" }, h("span", { class: "zc-lamp", "aria-hidden": "true", "data-kind": kind }, sign), h("span", { class: "zc-plain" }, item.words))),
    h("td", {}, item.mode),
    h("td", { class: "zc-number" }, item.secs === null ? "-" : item.secs.toFixed(2)),
    h("td", { class: "zc-number" }, item.cost),
    h("td", {}, item.turn),
  );
}

const number = (value) => (value === null ? "-" : value.toLocaleString("en"));

function render({ model, el }) {
  const kernel = link(model);
  const says = h("p", { class: "zc-says", role: "status" });
  const notice = h("p", { class: "zc-notice", role: "status" });
  const pause = button("Pause", "the board", () => kernel.send({ do: "pause", value: !model.get("panel").paused }));
  const chart = h("div"), words = h("ul", { class: "zc-plain-list" });
  const spend = h("div", { class: "zc-spend" }), recent = h("tbody");
  const at = h("span", { class: "zc-small" });
  const children = [
    h("div", { class: "zc-buttons" }, h("strong", { class: "zc-title" }, "Live board"), pause, at, notice),
    says,
    h("h4", {}, "Out of quota or money"), chart,
    h("details", {}, h("summary", {}, "The timeline in words"), words),
    h("h4", {}, "Today, since 00:00 UTC"), spend,
    h("h4", {}, "Attempts of every process, the newest first"),
    h("div", { class: "zc-scroll", tabindex: "0", role: "region", "aria-label": "Newest attempts" },
      h("table", {}, head(["UTC", "Candidate", "Outcome", "Mode", "Seconds", "Cost", "Call"]), recent)),
  ];

  function show() {
    const state = model.get("panel");
    if (!state.recent) return;
    say(says, state.says);
    say(notice, state.notice);
    say(pause, state.paused ? "Follow again" : "Pause");
    pause.setAttribute("aria-label", `${pause.textContent}: the board`);
    say(at, `${state.paused ? "paused at" : "following; drawn at"} ${new Date(state.now).toISOString().slice(11, 19)} UTC, ${state.arrived} new since it was opened`);
    chart.replaceChildren(state.outages.length ? timeline(state) : h("p", {}, "Nobody was out in this time."));
    words.replaceChildren(...state.outages.map((item) => h("li", {}, `${item.lane}: ${item.words}`)), ...(state.left_out ? [h("li", {}, `${number(state.left_out)} older ones are not shown`)] : []));
    spend.replaceChildren(
      state.today.length
        ? table(["Candidate", "Attempts", "Answers", "Tokens in / out", "Cost"], state.today.map((item) => [item.name, number(item.attempts), number(item.answered), `${number(item.tokens_in)} / ${number(item.tokens_out)}`, item.cost]))
        : h("p", {}, "No attempts yet today."),
    );
    recent.replaceChildren(...(state.recent.length ? state.recent.map(attempt) : [h("tr", {}, h("td", { colspan: "7" }, "No attempts yet."))]));
  }

  kernel.lost.push(() => say(at, at.textContent.replace("following; ", "")));
  return page({ model, el, kernel }, "board", "Live board of attempts", children, show);
}

export default { render };
