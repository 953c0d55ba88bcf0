"use strict";
// What pages do by themselves: follow the fleet, filter and select cells, ask before a change. Texts are set as texts.
const $ = (id) => document.getElementById(id);
const make = (tag, text, attributes = {}) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
const token = document.querySelector("meta[name=board]").content;
const say = (text) => { $("live").textContent = text; };
const post = (where, body) => fetch(where, {
  method: "POST", credentials: "same-origin",
  headers: { "X-Offshoot-Board": token, "Content-Type": "application/json" }, body: JSON.stringify(body),
});

// ---- live: the page is fetched again, and put in place where it differs.
let version = Number(document.body.dataset.version), busy = false, again = false;
const refresh = async () => {
  if (busy) { again = true; return; }
  busy = true;
  try {
    if (grid) { await grid.load(); await parts(false); }
    else await parts(true);
  } catch { /* the event stream says whether the board is still there */ }
  busy = false;
  if (again) { again = false; refresh(); }
};
const parts = async (all) => {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const query of ["header.top", "#trouble"].concat(all ? ["#main"] : [])) {
    const old = document.querySelector(query), now = page.querySelector(query);
    if (!old || !now || old.innerHTML === now.innerHTML) continue;
    if (query === "#main" && keeps(old, now)) continue;
    const focus = document.activeElement?.id, open = new Set([...old.querySelectorAll("details[open]")].map((d) => d.id));
    const was = new Set([...old.querySelectorAll("details")].map((d) => d.id));
    old.innerHTML = now.innerHTML;
    for (const d of old.querySelectorAll("details")) if (d.id && was.has(d.id)) d.open = open.has(d.id);
    if (focus && old.contains($(focus))) $(focus).focus();
    if (query === "#main") say("The page shows what is there now.");
  }
};
// What somebody reads or writes is not taken from under their eyes: a notice says that it changed.
const keeps = (old, now) => {
  if ($("dialog").open || old.querySelector("input:focus, #planned > *")) return true;
  const shown = old.querySelector("[data-tree]"), then = now.querySelector("[data-tree]");
  if (!shown || !then || shown.dataset.tree === then.dataset.tree) return false;
  if (!old.querySelector("#changed")) {
    const notice = make("p", "This revision holds something else by now. ", { id: "changed", class: "trouble", role: "alert" });
    const show = make("button", "Show it", { type: "button" });
    show.onclick = () => location.reload();
    notice.append(show);
    old.prepend(notice);
  }
  return true;
};
// A browser keeps six connections to a host: only a page that is seen holds one, and looks again when it is.
let events;
const follow = () => {
  if (document.hidden) { events?.close(); events = undefined; return; }
  if (events) return;
  events = new EventSource("./events");
  events.onmessage = (event) => { if (Number(event.data) > version) { version = Number(event.data); refresh(); } };
  events.onerror = () => { $("trouble").replaceChildren(make("p", "The board does not answer: it was ended, or is being started again.", { class: "trouble" })); };
  events.onopen = () => { if ($("trouble").textContent.startsWith("The board")) $("trouble").replaceChildren(); };
};

// ---- changes: shown with their command, confirmed, told.
const ask = (request, command) => {
  const dialog = $("dialog"), count = request.entries.length;
  const words = request.verb === "resolve"
    ? (request.take ? `Take ${request.take} in ${count} drafts?` : `Write ${request.value} in ${count} drafts?`)
    : `${request.verb[0].toUpperCase()}${request.verb.slice(1)} ${count === 1 ? request.entries[0].name : `${count} revisions`}?`;
  const told = make("div", undefined, { class: "told", "aria-live": "polite" });
  const row = make("div", undefined, { class: "verbs" });
  const go = make("button", "Confirm", { type: "button", class: "primary" });
  const look = make("button", "What would this do", { type: "button" });
  const stop = make("button", "Cancel", { type: "button" });
  const send = async (dryRun) => {
    for (const b of [go, look]) b.disabled = true;
    told.replaceChildren(make("p", dryRun ? "Asking …" : "Working …"));
    let answer = {};
    try { answer = await (await post("./act", { ...request, dryRun })).json(); } catch { answer = { error: "The board does not answer." }; }
    outcome(told, answer);
    if (dryRun) for (const b of [go, look]) b.disabled = false;
    else { go.remove(); look.remove(); stop.textContent = "Close"; stop.focus(); refresh(); }
  };
  go.onclick = () => send(false);
  look.onclick = () => send(true);
  stop.onclick = () => dialog.close();
  row.append(go, look, stop);
  const does = make("div", undefined, { class: "command" });
  does.append(make("code", command));
  dialog.replaceChildren(make("h2", words, { id: "dialog-title" }), make("p", "Only what holds what was shown is changed. The same from a terminal:"), does, row, told);
  dialog.showModal();
  go.focus();
};
const outcome = (told, answer) => {
  told.replaceChildren();
  if (answer.error || answer.broken) told.append(make("p", answer.error || answer.broken, { class: "trouble" }));
  if (answer.summary) told.append(make("p", answer.summary, { class: "summary" }));
  const list = make("ul");
  for (const one of (answer.results || []).filter((r) => r.result !== "Done").slice(0, 100)) {
    const item = make("li", one.changed ? "Changed since it was shown: " : `${one.result}: `);
    item.append(make("a", one.name, { href: `./revision?name=${encodeURIComponent(one.name)}` }), ` ${one.message}`);
    list.append(item);
  }
  if (list.children.length) told.append(list);
};
document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(copy.dataset.copy).then(() => { copy.textContent = "Copied"; });
  const act = event.target.closest("[data-act]");
  if (!act || act.disabled) return;
  const { act: verb, entries, key, take, command } = act.dataset;
  const request = { verb, entries: JSON.parse(entries) };
  ask(key ? { ...request, key, take } : request, command);
});
document.addEventListener("submit", async (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.matches("form.value")) {
    const value = form.elements.value.value;
    ask({ verb: "resolve", key: form.dataset.key, value, entries: JSON.parse(form.dataset.entries) },
      form.dataset.command.replace("VALUE", () => `'${value.replaceAll("'", "'\\''")}'`));
  } else if (form.id === "plan") {
    const asked = Object.fromEntries(new FormData(form));
    history.replaceState(null, "", `./plan?${new URLSearchParams(asked)}`);
    $("planned").replaceChildren(make("p", "Planning …"));
    const answer = await post("./plan", asked);
    if (answer.ok) $("planned").innerHTML = await answer.text();
    else $("planned").replaceChildren(make("p", "The board refused.", { class: "trouble" }));
  }
});

// ---- the grid.
const MARKS = { unknown: "?", uptodate: "✓", draft: "✎", proposed: "▲", deletion: "−", conflicts: "≠", gates: "◇", waiting: "…", suspended: "‖", failed: "✕" };
const ORDER = ["failed", "conflicts", "proposed", "deletion", "gates", "draft", "waiting", "suspended", "unknown", "uptodate"];
class Grid {
  constructor(box, form) {
    this.box = box; this.form = form;
    this.cells = new Map(); this.repositories = {}; this.version = null; this.shown = []; this.chosen = new Set(); this.active = null;
    form.addEventListener("input", () => { this.remember(); this.arrange(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    box.addEventListener("pointerdown", (event) => this.press(event));
    box.addEventListener("pointerover", (event) => { if (this.drag && event.buttons === 1) this.span(this.drag, event.target.closest(".cell")); });
    addEventListener("pointerup", () => { if (this.drag) { this.drag = null; this.told(); } });
    box.addEventListener("keydown", (event) => this.keyed(event));
    box.addEventListener("dblclick", () => this.enter());
  }
  async load() {
    const query = this.version === null ? "" : `?since=${this.version}`;
    const told = await (await fetch(`./cells${query}`, { credentials: "same-origin" })).json();
    const seen = new Set();
    let moved = told.full || told.gone.length > 0;
    if (told.full) this.repositories = told.repositories;
    for (const cell of told.cells) {
      seen.add(cell.v);
      const old = this.cells.get(cell.v);
      if (old && old.text === JSON.stringify(cell)) continue;
      moved = true;
      const node = old?.node ?? make("span", undefined, { role: "option" });
      node.className = `cell s-${cell.k}`;
      node.textContent = MARKS[cell.k] ?? "?";
      node.setAttribute("aria-label", `${cell.v}: ${cell.k}`);
      node.title = `${cell.v} · ${cell.k}`;
      node.setAttribute("aria-selected", String(this.chosen.has(cell.v)));
      node.dataset.v = cell.v;
      if (!old) node.id = `c${this.cells.size}-${Math.random().toString(36).slice(2, 8)}`;
      this.cells.set(cell.v, { ...cell, node, text: JSON.stringify(cell), labels: this.repositories[cell.r] ?? {} });
    }
    for (const name of told.full ? [...this.cells.keys()].filter((v) => !seen.has(v)) : told.gone) {
      if (!told.full && seen.has(name)) continue;
      this.cells.delete(name); this.chosen.delete(name);
    }
    this.version = told.version;
    if (moved) this.arrange();
  }
  remember() {
    const asked = [...new FormData(this.form)].filter(([, value]) => value);
    history.replaceState(null, "", `./targets?${new URLSearchParams(asked)}`);
  }
  arrange() {
    const { q, state, set, label, class: wanted, sort } = Object.fromEntries(new FormData(this.form));
    const find = q.toLowerCase(), labels = label.split(",").map((l) => l.trim()).filter(Boolean).map((l) => l.split("="));
    const fits = (c) => (!state || c.k === state) && (!set || c.s === set) && (!wanted || c.c.startsWith(wanted))
      && labels.every(([key, value]) => value ? c.labels[key] === value : key in c.labels)
      && (!find || `${c.v} ${c.r} ${c.p} ${c.m}`.toLowerCase().includes(find));
    const by = (c) => sort === "state" ? String(ORDER.indexOf(c.k)) : sort === "repository" ? c.r : sort === "class" ? c.c || "~"
      : sort.startsWith("label:") ? c.labels[sort.slice(6)] ?? "~" : "";
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const shown = [...this.cells.values()].filter(fits).map((c) => [by(c), c])
      .sort((a, b) => compare(a[0], b[0]) || compare(a[1].v, b[1].v)).map(([, c]) => c);
    // Whatever is in its place stays there: most changes are of one cell.
    if (shown.length !== this.shown.length || shown.some((c, i) => c.node !== this.shown[i].node)) this.box.replaceChildren(...shown.map((c) => c.node));
    this.shown = shown;
    const hidden = new Set(shown.map((c) => c.v));
    for (const v of this.chosen) if (!hidden.has(v)) { this.chosen.delete(v); this.cells.get(v)?.node.setAttribute("aria-selected", "false"); }
    $("tally").textContent = `${shown.length} of ${this.cells.size} targets`;
    if (this.active && !hidden.has(this.active)) this.active = null;
    this.told();
  }
  choose(v, on) {
    const cell = this.cells.get(v);
    if (!cell || this.chosen.has(v) === on) return;
    if (on) this.chosen.add(v); else this.chosen.delete(v);
    cell.node.setAttribute("aria-selected", String(on));
  }
  only(list) {
    const wanted = new Set(list);
    for (const v of [...this.chosen]) if (!wanted.has(v)) this.choose(v, false);
    for (const v of wanted) this.choose(v, true);
  }
  span(from, to) {
    if (!to) return;
    const a = this.shown.findIndex((c) => c.v === from), b = this.shown.findIndex((c) => c.v === to.dataset.v);
    this.only(this.shown.slice(Math.min(a, b), Math.max(a, b) + 1).map((c) => c.v));
    $("chosen").textContent = this.chosen.size;
  }
  press(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const v = cell.dataset.v;
    if (event.shiftKey && this.active) this.span(this.active, cell);
    else if (event.ctrlKey || event.metaKey) this.choose(v, !this.chosen.has(v));
    else { this.only([v]); this.drag = v; }
    this.go(v); this.told();
  }
  go(v) {
    if (this.active) this.cells.get(this.active)?.node.classList.remove("active");
    this.active = v;
    const node = this.cells.get(v)?.node;
    if (!node) return;
    node.classList.add("active");
    this.box.setAttribute("aria-activedescendant", node.id);
    node.scrollIntoView({ block: "nearest" });
    this.about();
  }
  enter() {
    const cell = this.cells.get(this.active);
    if (cell?.d) location.href = `./revision?name=${encodeURIComponent(cell.d)}`;
  }
  keyed(event) {
    const at = this.shown.findIndex((c) => c.v === this.active);
    const row = () => Math.max(1, Math.floor(this.box.clientWidth / (this.shown[0]?.node.offsetWidth + 2 || 20)));
    const steps = { ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: row, ArrowUp: () => -row(), Home: () => -at, End: () => this.shown.length - 1 - at };
    if (event.key === "a" && (event.ctrlKey || event.metaKey)) this.only(this.shown.map((c) => c.v));
    else if (event.key === "Escape") this.only([]);
    else if (event.key === " " && this.active) this.choose(this.active, !this.chosen.has(this.active));
    else if (event.key === "Enter") { this.enter(); return; }
    else if (steps[event.key]) {
      const to = Math.min(this.shown.length - 1, Math.max(0, at + steps[event.key]()));
      const next = this.shown[to];
      if (!next) return;
      if (event.shiftKey) this.choose(next.v, true);
      this.go(next.v);
    } else return;
    event.preventDefault();
    this.told();
  }
  told() {
    $("chosen").textContent = this.chosen.size;
    const row = $("selection-verbs"), cells = [...this.chosen].map((v) => this.cells.get(v)).filter((c) => c?.d && c.t);
    row.replaceChildren();
    const button = (verb, right, stages) => {
      const of = cells.filter((c) => stages.includes(c.l));
      if (!of.length) return;
      const node = make("button", `${verb[0].toUpperCase()}${verb.slice(1)} ${of.length}`, { type: "button", class: `act ${verb}` });
      node.disabled = row.dataset[right] !== "yes";
      if (node.disabled) node.title = "Your roles do not allow this";
      const names = of.slice(0, 200).map((c) => c.d).join(" ") + (of.length > 200 ? " …" : "");
      const entries = of.map((c) => ({ name: c.d, tree: c.t }));
      node.onclick = () => ask({ verb, entries }, `offshoot rpkg ${verb} ${names}${row.dataset.scope}`);
      row.append(node);
    };
    button("propose", "propose", ["Draft"]);
    button("approve", "approve", ["Proposed", "DeletionProposed"]);
    button("reject", "approve", ["Proposed", "DeletionProposed"]);
    this.about();
  }
  about() {
    const cell = this.cells.get(this.active), box = $("about");
    box.replaceChildren();
    if (!cell) return;
    const facts = make("dl", undefined, { class: "facts column" });
    const fact = (word, text, link) => {
      if (!text) return;
      const row = make("div"), value = make("dd");
      value.append(link ? make("a", text, { href: link }) : text);
      row.append(make("dt", word), value);
      facts.append(row);
    };
    fact("State", `${MARKS[cell.k]} ${cell.k}`);
    fact("Set", cell.s); fact("Repository", cell.r); fact("Package", cell.p); fact("Upstream", cell.u);
    fact("Revision", cell.d, `./revision?name=${encodeURIComponent(cell.d)}`);
    fact("Class", cell.c.slice(0, 8), `./changes?class=${cell.c}`);
    fact("Labels", Object.entries(cell.labels).map(([k, v]) => `${k}=${v}`).join(", "));
    fact("Says", cell.m.length > 180 ? `${cell.m.slice(0, 180)}…` : cell.m);
    box.append(make("h3", cell.v), facts);
  }
}
const grid = $("grid") ? new Grid($("grid"), $("filter")) : null;
if (grid) grid.load().then(() => { document.body.dataset.ready = "yes"; });
else document.body.dataset.ready = "yes";
document.addEventListener("visibilitychange", follow);
follow();
