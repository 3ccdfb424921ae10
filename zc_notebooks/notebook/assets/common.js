// What the package's widgets share on the page. Text from outside is only ever set as text, never as markup.

const STATES = {
  on: ["●", "ok"],
  limited: ["◐", "limited"],
  off: ["✕", "off"],
  unknown: ["?", "unknown"],
};

/** An element with attributes and children; a function under on… is a listener. */
function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Sets text only where it is another one, so that a screen reader does not say it again. */
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function countdown(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const days = Math.floor(seconds / 86400), hours = Math.floor((seconds % 86400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60), two = (n) => String(n).padStart(2, "0");
  if (days) return `${days}d ${two(hours)}h`;
  if (hours) return `${hours}h ${two(minutes)}m`;
  return minutes ? `${minutes}m ${two(seconds % 60)}s` : `${seconds}s`;
}

/** A button that stays in the order of Tab when it cannot be pressed. */
function button(text, name, pressed, kind = "") {
  const press = () => node.getAttribute("aria-disabled") !== "true" && pressed();
  const node = h("button", { type: "button", class: `zc-button ${kind}`, onclick: press }, text);
  if (name) node.setAttribute("aria-label", `${text} ${name}`);
  return node;
}

function able(node, can) {
  node.setAttribute("aria-disabled", can ? "false" : "true");
}

/** Whether what lies behind the node is dark: themes differ in how they say so, their colours do not. */
function isDark(node) {
  for (let at = node; at; at = at.parentElement) {
    const parts = getComputedStyle(at).backgroundColor.match(/[\d.]+/g);
    if (parts && (parts.length < 4 || Number(parts[3]) > 0.5)) {
      const [red, green, blue] = parts.map(Number);
      return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
    }
  }
  return false;
}

/** Keeps data-dark of the node right, also when the theme changes; returns how to end that. */
function themed(node) {
  const look = () => node.setAttribute("data-dark", isDark(node.parentElement ?? document.body));
  const watcher = new MutationObserver(look);
  watcher.observe(document.body, { attributes: true });
  requestAnimationFrame(look);
  setTimeout(look, 500);
  return () => watcher.disconnect();
}

/** A box that asks to be read at once when it comes. */
function alertBox() {
  return h("div", { class: "zc-alert", role: "alert", hidden: true });
}

/** One sentence, with the details to unfold. */
function showTrouble(box, trouble, dismiss) {
  box.hidden = trouble === null;
  box.replaceChildren();
  if (trouble === null) return;
  box.append(
    h("p", {}, h("strong", {}, "⚠ "), trouble.sentence),
    h("details", {}, h("summary", {}, "Details"), h("pre", { tabindex: "0" }, trouble.details)),
    button("Dismiss", "", dismiss),
  );
}

function head(columns) {
  return h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, name))));
}

function table(columns, rows) {
  return h("table", {}, head(columns), h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))));
}

const ENDED = ["restarting", "autorestarting", "terminating", "dead"];

/** The way to the kernel of a widget. What is in `lost` is called once, when that kernel is no more. */
function link(model) {
  const lost = [], kernel = model.widget_manager?.kernel;
  let live = true;
  const end = () => {
    if (live) for (const each of lost) each();
    live = false;
  };
  const look = (_, status) => ENDED.includes(status) && end();
  const send = (message) => {
    try {
      if (live) model.send(message);
    } catch {
      end(); // its comm was closed
    }
  };
  kernel?.statusChanged?.connect(look);
  kernel?.disposed?.connect(end);
  const close = () => {
    kernel?.statusChanged?.disconnect(look);
    kernel?.disposed?.disconnect(end);
  };
  return { send, lost, close };
}

/** Says that the kernel is gone, and lets nothing be pressed. */
function bury(root, box, what) {
  box.hidden = false;
  box.replaceChildren(h("strong", {}, "⚠ "), `The kernel of this ${what} is gone: run its cell again.`);
  for (const node of root.querySelectorAll("button")) able(node, false);
  for (const node of root.querySelectorAll("input, select, textarea")) node.disabled = true;
}

/** Puts a widget on the page: `show` draws its trait, `hear` takes messages that tell no trouble. Returns how to end it. */
function page({ model, el, kernel }, what, label, children, show, hear = () => {}) {
  const trouble = alertBox(), gone = alertBox();
  const root = h("section", { class: "zc-panel", "aria-label": label, "data-lm-suppress-shortcuts": "true" }, gone, trouble, ...children);
  const told = (message) =>
    message.kind === "trouble" ? showTrouble(trouble, message.trouble, () => kernel.send({ do: "dismiss" })) : hear(message);
  kernel.lost.unshift(() => bury(root, gone, what));
  model.on("change:panel", show);
  model.on("msg:custom", told);
  el.append(root);
  const untheme = themed(root);
  show();
  kernel.send({ do: "hello" });
  return () => {
    untheme();
    kernel.close();
    model.off("change:panel", show);
    model.off("msg:custom", told);
  };
}
