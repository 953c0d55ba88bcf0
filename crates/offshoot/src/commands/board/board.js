"use strict";
// What pages do by themselves: follow the fleet, filter and select cells, ask before a change. Texts are set as texts.
const $ = (id) => document.getElementById(id);
const make = (tag, text, attributes = {}) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};
const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;
// A word as a shell takes it.
const quoted = (word) => (/^[\w\-./=,:@%+]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const token = document.querySelector("meta[name=board]").content;
const say = (text) => { $("live").textContent = text; };
const post = (where, body) => fetch(where, {
  method: "POST", credentials: "same-origin",
  headers: { "X-Offshoot-Board": token, "Content-Type": "application/json" }, body: JSON.stringify(body),
});

// ---- the focus: told by what it is on and within what, so that it is found again in a page that was fetched anew.
const TELLS = ["id", "href", "name", "aria-label", "data-act", "data-words", "data-steer", "data-set", "data-take", "data-key", "data-copy"];
const named = (node) => node.id || node.getAttribute("aria-label") || node.getAttribute("aria-labelledby");
const around = (node, top) => {
  const names = [];
  for (let n = node.parentElement; n && n !== top; n = n.parentElement) if (named(n)) names.push(named(n));
  return names;
};
const tells = (node) => [node.tagName, ...TELLS.map((key) => node.getAttribute(key)), node.matches("code") ? node.textContent : ""].join("\n");
const focused = (top) => {
  const node = document.activeElement;
  return node && node !== top && top.contains(node) ? { tag: node.tagName, tells: tells(node), around: around(node, top) } : null;
};
const focus = (node) => {
  if (!node.matches("a, button, summary, [tabindex]")) node.tabIndex = -1;
  node.focus({ preventScroll: true });
};
// Onto what it was on, else onto the heading of what it was in: whoever works by keys goes on from there.
const refocus = (top, was, last = $("main")) => {
  if (!was) return;
  const same = [...top.querySelectorAll(was.tag)].find((n) => !n.disabled && tells(n) === was.tells && around(n, top).join() === was.around.join());
  const parts = [...top.querySelectorAll("section, details, form, nav")];
  const near = was.around.map((name) => parts.find((n) => named(n) === name)?.querySelector("h1, h2, h3, summary")).find(Boolean);
  focus(same ?? near ?? top.querySelector("h1, h2, h3") ?? last);
};

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
  // That a revision is gone is told by its page.
  if (!answer.ok && answer.status !== 404) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const query of ["header.top", "#trouble"].concat(all ? ["#main"] : [])) {
    const old = document.querySelector(query), now = page.querySelector(query);
    if (!old || !now || old.innerHTML === now.innerHTML) continue;
    if (query === "#main" && keeps(old, now)) continue;
    const was = focused(old), open = new Set([...old.querySelectorAll("details[open]")].map((d) => d.id));
    const known = new Set([...old.querySelectorAll("details")].map((d) => d.id));
    old.innerHTML = now.innerHTML;
    for (const d of old.querySelectorAll("details")) if (d.id && known.has(d.id)) d.open = open.has(d.id);
    refocus(old, was);
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
const title = (verb) => verb[0].toUpperCase() + verb.slice(1);
const ask = (request, command, button) => {
  const count = request.entries.length, drafts = counted(count, "draft", "drafts");
  const words = request.verb === "resolve"
    ? (request.take ? `Take ${request.take} in ${drafts}?` : `Write ${request.value} in ${drafts}?`)
    : `${button} ${count === 1 ? request.entries[0].name : `${count} revisions`}?`;
  const means = request.verb === "del" ? "Only what holds what was shown is deleted." : "Only what holds what was shown is changed.";
  // On its own page a revision is decided also where its step is closed.
  const alone = location.pathname.endsWith("/revision");
  confirm({ words, means, command, where: "./act", request: { ...request, alone } });
};
// What does the same: for one revision with its tree, for very many in several commands.
const commandOf = (verb, entries, flags) => {
  if (entries.length === 1) return `offshoot rpkg ${verb} ${entries[0].name} --expected-tree ${entries[0].tree}${flags}`;
  const lines = [];
  for (let at = 0; at < entries.length; at += 200) lines.push(`offshoot rpkg ${verb} ${entries.slice(at, at + 200).map((e) => e.name).join(" ")}${flags}`);
  return lines.join("\n");
};
const confirm = ({ words, means, command, where, request }) => {
  const dialog = $("dialog");
  const told = make("div", undefined, { class: "told", "aria-live": "polite" });
  const row = make("div", undefined, { class: "verbs" });
  const go = make("button", "Confirm", { type: "button", class: "primary" });
  const look = make("button", "What would this do", { type: "button" });
  const stop = make("button", "Cancel", { type: "button" });
  const send = async (dryRun) => {
    for (const b of [go, look]) b.disabled = true;
    told.replaceChildren(make("p", dryRun ? "Asking …" : "Working …"));
    let answer = {};
    try { answer = await (await post(where, { ...request, dryRun })).json(); } catch { answer = { error: "The board does not answer." }; }
    outcome(told, answer);
    if (dryRun) for (const b of [go, look]) b.disabled = false;
    else { go.remove(); look.remove(); stop.textContent = "Close"; stop.focus(); refresh(); }
  };
  go.onclick = () => send(false);
  look.onclick = () => send(true);
  stop.onclick = () => dialog.close();
  row.append(go, look, stop);
  const does = make("div", undefined, { class: "command" });
  does.append(make("code", command, { tabindex: "0" }));
  dialog.replaceChildren(make("h2", words, { id: "dialog-title" }), make("p", `${means} The same from a terminal:`), does, row, told);
  dialog.showModal();
  go.focus();
};
// A page that was not changed under an open dialog follows once it is closed. What opened it may be gone by then.
$("dialog").addEventListener("close", () => {
  const at = document.activeElement;
  if (at === document.body || $("dialog").contains(at)) focus(grid?.box ?? document.querySelector("#main h1") ?? $("main"));
  refresh();
});
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
  if (answer.becomes) {
    const { name, file, diff } = answer.becomes;
    told.append(make("p", diff ? `The text of ${name} becomes, before its functions run:` : `${file} of ${name} holds that already: its text stays.`));
    const text = make("pre", undefined, { class: "diff", tabindex: "0", "aria-label": `What ${file} becomes` });
    for (const line of diff.split("\n").slice(0, -1)) {
      const kind = /^(\+\+\+|---)/.test(line) ? "file" : { "@": "hunk", "+": "plus", "-": "minus" }[line[0]] ?? "";
      text.append(make("span", `${line}\n`, { class: kind }));
    }
    if (diff) told.append(text);
  }
};
document.addEventListener("click", (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) navigator.clipboard.writeText(copy.dataset.copy).then(() => { copy.textContent = "Copied"; });
  const steer = event.target.closest("[data-steer]");
  if (steer && !steer.disabled) {
    const { steer: verb, set, seen, meaning: means, command } = steer.dataset;
    confirm({ words: `${title(verb)} the rollout of ${set}?`, means, command, where: "./rollout", request: { verb, set, seen } });
  }
  const act = event.target.closest("[data-act]");
  if (!act || act.disabled) return;
  const { act: verb, entries, key, take, command, words } = act.dataset;
  const request = { verb, entries: JSON.parse(entries) };
  ask(key ? { ...request, key, take } : request, command, words);
});
const plan = async (form) => {
  const asked = Object.fromEntries(new FormData(form));
  history.replaceState(null, "", `./plan?${new URLSearchParams(asked)}`);
  $("planned").replaceChildren(make("p", "Planning …"));
  const answer = await post("./plan", asked);
  if (answer.ok) $("planned").innerHTML = await answer.text();
  else $("planned").replaceChildren(make("p", "The board refused.", { class: "trouble" }));
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.matches("form.value")) {
    const value = form.elements.value.value;
    ask({ verb: "resolve", key: form.dataset.key, value, entries: JSON.parse(form.dataset.entries) },
      form.dataset.command.replace("VALUE", () => `'${value.replaceAll("'", "'\\''")}'`));
  } else if (form.id === "plan") plan(form);
});
// The address of a plan names a revision, also an empty one.
if ($("plan") && new URLSearchParams(location.search).has("revision")) plan($("plan"));

// ---- the grid.
const MARKS = { unknown: "?", uptodate: "✓", step: "›", draft: "✎", proposed: "▲", deletion: "−", conflicts: "≠", gates: "◇", untagged: "⚑", waiting: "…", suspended: "‖", failed: "✕" };
const ORDER = ["failed", "conflicts", "proposed", "deletion", "gates", "untagged", "draft", "waiting", "suspended", "unknown", "step", "uptodate"];
const FIELDS = ["s", "r", "p", "k", "l", "c", "u", "m", "step"];
// So many rows of cells are laid out and painted together, once they come into sight (board.css has their height).
const ROWS = 8, SIZE = 20;
// So many runs of equal cells have titles.
const RUNS = 60;
class Grid {
  constructor(box, form) {
    this.box = box; this.form = form;
    this.cells = new Map(); this.sorted = null; this.repositories = {}; this.steps = {}; this.blocked = []; this.early = []; this.kept = []; this.version = null;
    this.shown = []; this.blocks = []; this.chosen = new Set(); this.active = null; this.models = new Map(); this.runs = [];
    form.addEventListener("input", () => { this.remember(); this.arrange(); });
    form.addEventListener("submit", (event) => event.preventDefault());
    box.addEventListener("pointerdown", (event) => this.press(event));
    box.addEventListener("pointerover", (event) => {
      const cell = event.target.closest(".cell")?.cell;
      if (cell) cell.node.title = `${cell.v} · ${cell.k}${cell.step && ` · ${cell.step}`}`;
      if (this.drag && event.buttons === 1) this.span(this.drag, cell);
    });
    addEventListener("pointerup", () => { if (this.drag) { this.drag = null; this.told(); } });
    box.addEventListener("keydown", (event) => this.keyed(event));
    box.addEventListener("dblclick", () => this.enter());
    new ResizeObserver(() => { if (this.columns !== this.wide()) this.place(); }).observe(box);
  }
  async load() {
    const query = this.version === null ? "" : `?since=${this.version}`;
    const told = await (await fetch(`./cells${query}`, { credentials: "same-origin" })).json();
    const seen = told.full && this.cells.size ? new Set() : null;
    let moved = told.full || told.gone.length > 0 || told.repositories !== null;
    moved ||= JSON.stringify([told.blocked, told.early, told.kept]) !== JSON.stringify([this.blocked, this.early, this.kept]);
    this.steps = told.steps; this.blocked = told.blocked; this.early = told.early; this.kept = told.kept;
    for (const [v, d, t, places] of told.cells) {
      const cell = { v, d, t };
      for (let i = 0; i < FIELDS.length; i++) cell[FIELDS[i]] = told.words[places[i]];
      seen?.add(v);
      const old = this.cells.get(v);
      if (old && d === old.d && t === old.t && FIELDS.every((f) => cell[f] === old[f])) continue;
      moved = true;
      if (!old) this.sorted = null;
      this.dress(Object.assign(old ?? { node: null, at: -1 }, cell));
    }
    if (told.repositories) {
      this.repositories = told.repositories;
      for (const cell of this.cells.values()) cell.labels = this.repositories[cell.r] ?? {};
    }
    for (const name of seen ? [...this.cells.keys()].filter((v) => !seen.has(v)) : told.gone) {
      // What came back since is told again.
      if (!seen && told.cells.some(([v]) => v === name)) continue;
      this.cells.delete(name); this.chosen.delete(name); this.sorted = null;
    }
    this.version = told.version;
    this.offer();
    if (moved) this.arrange();
  }
  // A cell is a copy of the model of its state.
  dress(cell) {
    let model = this.models.get(cell.k);
    if (!model) {
      model = make("span", MARKS[cell.k] ?? "?", { role: "option", class: `cell s-${cell.k}`, "aria-selected": "false" });
      this.models.set(cell.k, model);
    }
    if (!cell.node) cell.node = model.cloneNode(true);
    else if (cell.node.textContent !== model.textContent) {
      cell.node.className = `${model.className}${cell.v === this.active ? " active" : ""}`;
      cell.node.textContent = model.textContent;
    }
    cell.node.setAttribute("aria-label", `${cell.v}: ${cell.k}${cell.step && `, step ${cell.step}`}`);
    cell.node.cell = cell;
    cell.find = `${cell.v} ${cell.r} ${cell.p} ${cell.m}`.toLowerCase();
    cell.labels = this.repositories[cell.r] ?? {};
    this.cells.set(cell.v, cell);
  }
  // Steps that appeared since the page was made.
  offer() {
    const select = this.form.elements.step, known = new Set([...select.options].map((o) => o.value));
    for (const step of Object.values(this.steps).flat()) {
      if (known.has(step)) continue;
      known.add(step);
      select.append(make("option", step));
    }
  }
  remember() {
    const asked = [...new FormData(this.form)].filter(([, value]) => value);
    history.replaceState(null, "", `./targets?${new URLSearchParams(asked)}`);
  }
  arrange() {
    const { q, state, set, step, label, class: wanted, sort } = Object.fromEntries(new FormData(this.form));
    const find = q.toLowerCase(), labels = label.split(",").map((l) => l.trim()).filter(Boolean).map((l) => l.split("="));
    const fits = (c) => (!state || c.k === state) && (!set || c.s === set) && (!step || c.step === step) && (!wanted || c.c.startsWith(wanted))
      && labels.every(([key, value]) => value ? c.labels[key] === value : key in c.labels)
      && (!find || c.find.includes(find));
    const order = (c) => this.steps[c.s]?.indexOf(c.step) ?? -1;
    const by = (c) => sort === "state" ? ORDER.indexOf(c.k) : sort === "repository" ? c.r : sort === "set" ? c.s || "~" : sort === "class" ? c.c || "~"
      : sort === "step" ? (order(c) < 0 ? 99 : order(c)) : sort.startsWith("label:") ? c.labels[sort.slice(6)] ?? "~" : "";
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    this.sorted ??= [...this.cells.values()].sort((a, b) => compare(a.v, b.v));
    const key = sort.startsWith("label:") ? sort.slice(6) : null;
    const title = (c) => sort === "state" ? `${MARKS[c.k]} ${c.k}` : sort === "repository" ? c.r : sort === "set" ? c.s || "no set" : sort === "class" ? c.c.slice(0, 8) || "no class"
      : sort === "step" ? c.step || "no step" : `${key}: ${c.labels[key] ?? "none"}`;
    let shown = this.sorted.filter(fits);
    this.runs = [{ title: "", from: 0 }];
    if (sort) {
      // Sorting keeps the order of names among equals.
      const both = shown.map((c) => [by(c), c]).sort((a, b) => compare(a[0], b[0]));
      shown = both.map(([, c]) => c);
      const runs = both.flatMap(([value, c], i) => i && both[i - 1][0] === value ? [] : [{ title: title(c), from: i }]);
      if (runs.length <= RUNS) this.runs = runs;
    }
    for (const c of this.shown) c.at = -1;
    shown.forEach((c, i) => { c.at = i; });
    this.shown = shown;
    this.place();
    for (const v of this.chosen) if (!(this.cells.get(v)?.at >= 0)) this.choose(v, false);
    $("tally").textContent = `${shown.length} of ${counted(this.cells.size, "target", "targets")}`;
    if (this.active && !(this.cells.get(this.active)?.at >= 0)) { this.leave(); this.active = null; }
    this.told();
  }
  wide() { return Math.max(1, Math.floor((this.box.clientWidth - 6) / SIZE)); }
  // Cells lie in blocks of whole rows, below the title of their run. Whatever is in its place stays there: most changes
  // are of one cell.
  place() {
    this.columns = this.wide();
    this.box.style.setProperty("--columns", this.columns);
    const each = this.columns * ROWS, wanted = [];
    let used = 0;
    this.runs.forEach(({ title, from }, i) => {
      const to = this.runs[i + 1]?.from ?? this.shown.length;
      if (title) wanted.push(make("div", `${title} · ${to - from}`, { class: "run", "aria-hidden": "true" }));
      for (let at = from; at < to; at += each) {
        const nodes = this.shown.slice(at, Math.min(to, at + each)).map((c) => c.node);
        const block = this.blocks[used] ??= make("div", undefined, { class: "block", role: "presentation" });
        used++;
        wanted.push(block);
        if (block.children.length !== nodes.length || nodes.some((node, n) => node !== block.children[n])) block.replaceChildren(...nodes);
      }
    });
    this.blocks.length = used;
    const there = [...this.box.children], same = (a, b) => a === b || (a?.className === "run" && a.isEqualNode(b));
    if (there.length !== wanted.length || wanted.some((node, n) => !same(node, there[n]))) this.box.replaceChildren(...wanted);
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
    const a = this.cells.get(from).at, b = to.at;
    this.only(this.shown.slice(Math.min(a, b), Math.max(a, b) + 1).map((c) => c.v));
    $("chosen").textContent = this.chosen.size;
  }
  press(event) {
    const cell = event.target.closest(".cell")?.cell;
    if (!cell) return;
    const v = cell.v;
    if (event.shiftKey && this.active) this.span(this.active, cell);
    else if (event.ctrlKey || event.metaKey) this.choose(v, !this.chosen.has(v));
    else { this.only([v]); this.drag = v; }
    this.go(v); this.told();
  }
  leave() { this.cells.get(this.active)?.node.classList.remove("active"); }
  go(v) {
    if (this.active) this.leave();
    this.active = v;
    const node = this.cells.get(v)?.node;
    if (!node) return;
    node.classList.add("active");
    node.id ||= `c${crypto.randomUUID()}`;
    this.box.setAttribute("aria-activedescendant", node.id);
    node.scrollIntoView({ block: "nearest" });
    this.about();
  }
  enter() {
    const cell = this.cells.get(this.active);
    if (cell?.d) location.href = `./revision?name=${encodeURIComponent(cell.d)}`;
    // What has no revision is told of beside the grid, with the way out.
    else if (cell) $("about").focus();
  }
  keyed(event) {
    const at = this.cells.get(this.active)?.at ?? -1;
    const row = () => this.columns;
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
    const row = $("selection-verbs"), cells = [...this.chosen].map((v) => this.cells.get(v)).filter((c) => c?.d && c.t), was = focused(row);
    row.replaceChildren();
    // What is of a closed step or of another version than is wanted, and deletions of what a rollout still has, are decided each on its own page.
    const [waiting, standing, blocked] = [this.early, this.kept, this.blocked].map((names) => new Set(names));
    const early = (c) => waiting.has(c.d), kept = (c) => c.l === "DeletionProposed" && standing.has(c.d), stuck = (c) => blocked.has(c.d);
    const open = (stage) => cells.filter((c) => c.l === stage && !early(c));
    const button = (verb, words, right, of) => {
      if (!of.length) return;
      const node = make("button", `${words} ${of.length}`, { type: "button", class: `act ${verb}`, "data-words": words });
      node.disabled = row.dataset[right] !== "yes";
      if (node.disabled) node.title = "Your roles do not allow this";
      const entries = of.map((c) => ({ name: c.d, tree: c.t }));
      node.onclick = () => ask({ verb, entries }, commandOf(verb, entries, row.dataset.flags), words);
      row.append(node);
    };
    button("propose", "Propose", "propose", open("Draft").filter((c) => !stuck(c)));
    button("approve", "Approve", "approve", open("Proposed"));
    button("reject", "Reject", "approve", open("Proposed"));
    // A proposed deletion is never decided together with what changes something.
    button("del", "Delete", "delete", open("DeletionProposed").filter((c) => !kept(c)));
    button("reject", "Reject deletion of", "approve", open("DeletionProposed"));
    const undecided = cells.filter((c) => stuck(c) && !early(c)).length;
    if (undecided) {
      const told = make("p", `${undecided} with conflicts that nobody decided: `, { class: "soft" });
      told.append(make("a", "decide them", { href: "./conflicts" }), " before you propose");
      row.append(told);
    }
    const closed = cells.filter((c) => ["Draft", "Proposed"].includes(c.l) && early(c)).length, left = cells.filter(kept).length;
    if (closed) row.append(make("p", `${closed} of closed steps or of another version than is wanted: each is decided on its own page`, { class: "soft" }));
    if (left) row.append(make("p", `${counted(left, "deletion", "deletions")} of what a rollout still has: each is approved on its own page`, { class: "soft" }));
    refocus(row, was, this.box);
    this.about();
  }
  about() {
    const cell = this.cells.get(this.active), box = $("about"), was = focused(box);
    box.replaceChildren();
    box.removeAttribute("aria-label");
    if (!cell) return;
    const facts = make("dl", undefined, { class: "facts column" });
    const fact = (word, text, link) => {
      if (!text) return;
      const row = make("div"), value = make("dd", undefined, { class: "whole" });
      value.append(link ? make("a", text, { href: link }) : text);
      row.append(make("dt", word), value);
      facts.append(row);
    };
    fact("State", `${MARKS[cell.k]} ${cell.k}`);
    fact("Set", cell.s); fact("Step", cell.step); fact("Repository", cell.r); fact("Package", cell.p); fact("Upstream", cell.u);
    fact("Revision", cell.d, `./revision?name=${encodeURIComponent(cell.d)}`);
    fact("Class", cell.c.slice(0, 8), `./changes?class=${cell.c}`);
    fact("Labels", Object.entries(cell.labels).map(([k, v]) => `${k}=${v}`).join(", "));
    fact("Says", cell.m);
    box.setAttribute("aria-label", cell.v);
    box.append(make("h3", cell.v), facts);
    if (cell.k === "failed" || !cell.d) {
      const why = `offshoot why ${quoted(`pvar/${cell.v}`)}${$("selection-verbs").dataset.flags}`, does = make("div", undefined, { class: "command" });
      does.append(make("code", why, { tabindex: "0" }), make("button", "Copy", { type: "button", class: "small", "data-copy": why }));
      box.append(does);
    }
    refocus(box, was, box);
  }
}
const grid = $("grid") ? new Grid($("grid"), $("filter")) : null;
if (grid) grid.load().then(() => { document.body.dataset.ready = "yes"; });
else document.body.dataset.ready = "yes";
document.addEventListener("visibilitychange", follow);
follow();
