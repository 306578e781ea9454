// The report page but for the chart. Everything is read from the JSON in the page; nothing is loaded.
// Texts of the log go into text nodes only, so none of them can become markup.
"use strict";
const report = JSON.parse(document.getElementById("report").textContent);
const SVG = "http://www.w3.org/2000/svg";
const KINDS = {
  page: { name: "page", fill: "#1f5fa8" },
  robots: { name: "robots.txt", fill: "#8a2fa0" },
  media: { name: "media", fill: "#0b7a5c" },
  wait: { name: "wait: ten fetches, or the floor", hatch: "#8c8c8c", angle: 45 },
  "crawl-delay": { name: "wait: Crawl-delay", hatch: "#c47a1b", angle: -45, back: "#fff6e8" },
  backoff: { name: "left alone after a refusal", hatch: "#c2261c", angle: 45, back: "#fdeae8" },
  held: { name: "robots.txt cannot be read", hatch: "#a3539f", angle: 90, back: "#f8ecf7" },
  parked: { name: "parked", hatch: "#444", angle: 0, back: "#ececec" },
};
const REASONS = {
  disallowed: "robots.txt disallows them", unreachable: "their robots.txt could not be read",
  parked: "their host is parked", left: "the crawl ended before",
  purpose: "robots.txt disallows what the crawl is for",
  unwanted: "fetched, but their header disallows what the crawl is for",
};
const WORDS = { kept: "\u2713 kept", broken: "\u2717 broken", unknown: "? unknown" };

// Words and numbers

const count = (number) => (number ?? 0).toLocaleString("en");
const many = (number, noun) =>
  `${count(number)} ${number === 1 ? noun : noun === "fetch" ? "fetches" : noun + "s"}`;
const percent = (part) => (part == null ? "" : (part * 100).toFixed(2) + "%");
const short = (number) => String(Number(number.toPrecision(3)));

function span(seconds) {
  if (seconds == null) return "";
  if (seconds < 1) return short(seconds * 1000) + " ms";
  if (seconds < 60) return short(seconds) + " s";
  const whole = Math.round(seconds);
  for (const [size, unit, small, smallUnit] of
    [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]])
    if (whole >= size) {
      const rest = Math.floor(whole % size / small);
      return `${count(Math.floor(whole / size))} ${unit}` + (rest ? ` ${rest} ${smallUnit}` : "");
    }
  return whole + " s";
}

function instant(seconds, digits = 3) {
  const units = 10 ** digits, ticks = Math.round(seconds * units);
  const whole = Math.floor(ticks / units), rest = String(ticks % units).padStart(digits, "0");
  const two = (number) => String(number).padStart(2, "0");
  const clock = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return digits ? `${clock}.${rest}` : clock;
}

// Elements

function make(space, tag, attributes, children) {
  const node = space ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child != null).map((c) => (c.nodeType ? c : String(c))));
  return node;
}
const el = (tag, attributes = {}, ...children) => make(false, tag, attributes, children);
const svg = (tag, attributes = {}, ...children) => make(true, tag, attributes, children);
const byId = (id) => document.getElementById(id);

function table(columns, rows) {
  const cell = (tag, column, content) => el(tag, column.number ? { class: "number" } : {}, content);
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...columns.map((c) => {
      const head = cell("th", c, c.name);
      head.scope = "col";
      return head;
    }))),
    el("tbody", {}, ...rows.map((row) =>
      el("tr", {}, ...columns.map((c) => cell("td", c, c.of(row))))))));
}

function urls(list) {
  return el("ul", {}, ...list.map((url) => el("li", { class: "url" }, url)));
}

// The parts that never change

function head() {
  const broken = report.promises.filter((p) => p.verdict === "broken").length;
  const all = report.promises.length;
  const whole = report.is_whole && report.promises.every((p) => p.verdict === "kept");
  const verdict = broken ? "broken" : whole ? "kept" : "unknown";
  const line = { kept: `All ${all} promises were kept.`,
    broken: `${broken} of ${all} promises were broken.`,
    unknown: `Whether all ${all} promises were kept cannot be told.` }[verdict];
  const began = new Date(report.began_at * 1000).toISOString().slice(0, 19).replace("T", " ");
  byId("head").append(
    el("h1", {}, "Politeness of the crawl" + (report.spider ? ` of ${report.spider}` : "")),
    el("p", {}, `${began} UTC, ${span(report.seconds)}: ${many(report.fetches, "fetch")} of ` +
      many(report.host_count, "host") + (report.ended ? `; ended: ${report.ended}` : "")),
    el("p", { class: `verdict ${verdict}`, id: "verdict" }, line),
    ...(report.notes ?? []).map((note) => el("p", { class: "note" }, note)));
}

function promises() {
  for (const promise of report.promises)
    byId("promises").append(el("div", { class: "promise" },
      el("b", { class: promise.verdict }, WORDS[promise.verdict]),
      el("b", {}, promise.title), el("span", { class: "url" }, promise.detail),
      promise.examples ? urls(promise.examples) : null));
}

function missed() {
  const list = report.not_fetched.map((item) => el("details", {},
    el("summary", {}, `${count(item.count)}: ${REASONS[item.reason] ?? item.reason}`),
    urls(item.urls ?? [])));
  byId("missed").append(...(list.length ? list : [el("p", {}, "Nothing was left out.")]));
}

function robots() {
  const shown = report.robots.slice(0, 200), more = report.robots.length - shown.length;
  byId("robots").append(table([
    { name: "origin", of: (file) => file.origin },
    { name: "status", of: (file) => file.status ?? "no answer" },
    { name: "meaning", of: (file) => file.standing },
    { name: "read at", of: (file) => file.answered_at == null ? "never" :
      file.answered_at < 0 ? "before the crawl" : instant(file.answered_at, 0) },
    { name: "Crawl-delay", of: (file) => !file.crawl_delay ? "" : span(file.crawl_delay) +
      (file.asked_delay > file.crawl_delay ? ` (asked for ${span(file.asked_delay)})` : "") },
    { name: "problems", of: (file) => !file.problems ? "" : el("span", {}, ...file.problems.flatMap(
      (text) => [text, el("br")]), file.problem_count > file.problems.length ?
      `and ${count(file.problem_count - file.problems.length)} more` : "") },
  ], shown), more ? el("p", {}, `and ${many(more, "more file")}`) : "");
}

function agents() {
  byId("agents").append(table([
    { name: "fetches", number: true, of: (agent) => count(agent.fetches) },
    { name: "User-Agent", of: (agent) => agent.user_agent || "(none)" },
    { name: "From", of: (agent) => agent.from_address || "" },
  ], report.user_agents));
}

function legend() {
  const seen = new Set();
  for (const row of report.picture.rows ?? [])
    for (let n = 2; n < row.spans?.length; n += 3) seen.add(row.spans[n]);
  const defs = svg("defs"), kinds = report.picture.kinds ?? Object.keys(KINDS);
  kinds.forEach((kind, code) => {
    const look = KINDS[kind];
    if (!look) return;
    if (look.hatch) defs.append(pattern(kind, look));
    if (seen.has(code)) byId("legend").append(el("span", {},
      svg("svg", { width: 26, height: 14, "aria-hidden": "true" },
        svg("rect", { width: 26, height: 14, fill: paint(kind) })), look.name));
  });
  document.body.append(svg("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position:absolute" }, defs));
}

function pattern(kind, look) {
  return svg("pattern", { id: `hatch-${kind}`, width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: `rotate(${look.angle})` },
    svg("rect", { width: 5, height: 5, fill: look.back ?? "#fff" }),
    svg("line", { x1: 0, y1: 0, x2: 0, y2: 5, stroke: look.hatch, "stroke-width": 2 }));
}
const paint = (kind) => KINDS[kind].hatch ? `url(#hatch-${kind})` : KINDS[kind].fill;

head();
promises();
missed();
robots();
agents();
legend();
