// The hosts of the report page, a page of them at a time, in the timeline and in the table below.
// The chart is drawn anew whenever something changes; what `page.js` has is used here.
"use strict";
const ROWS = 40, LABELS = 190, AXIS = 26, FETCHES = 3, NEAR = 4;

// Hosts, page by page: the same ones in the chart and in the table

const rows = new Map((report.picture.rows ?? []).map((row) => [row.host, row.spans ?? []]));
const kinds = report.picture.kinds ?? Object.keys(KINDS);
const total = Math.max(report.picture.seconds * 1000, 1);
const view = { from: 0, to: total, page: 0, hosts: report.hosts, shown: [] };
const ORDERS = {
  refused: (a, b) => (b.refused ?? 0) - (a.refused ?? 0),
  share: (a, b) => (b.share ?? 0) - (a.share ?? 0),
  name: (a, b) => (a.host < b.host ? -1 : 1),
};

function choose() {
  const wanted = byId("find").value.trim().toLowerCase(), order = ORDERS[byId("order").value];
  const found = report.hosts.filter((host) => host.host.toLowerCase().includes(wanted));
  view.hosts = order ? found.sort(order) : found;
  view.page = 0;
  turn(0);
}

function turn(step) {
  const pages = Math.max(Math.ceil(view.hosts.length / ROWS), 1);
  view.page = Math.min(Math.max(view.page + step, 0), pages - 1);
  view.shown = view.hosts.slice(view.page * ROWS, (view.page + 1) * ROWS);
  const unlisted = report.hosts_unlisted ? `, ${count(report.hosts_unlisted)} more not listed` : "";
  byId("page").textContent =
    `page ${view.page + 1} of ${pages}, ${many(view.hosts.length, "host")}${unlisted}`;
  byId("back").disabled = view.page === 0;
  byId("on").disabled = view.page === pages - 1;
  draw();
  hosts();
}

function hosts() {
  byId("hosts").querySelector(".scroll")?.remove();
  byId("hosts").append(table([
    { name: "host", of: (host) => host.host },
    { name: "fetches", number: true, of: (host) => count(host.fetches) },
    { name: "robots", number: true, of: (host) => count(host.robots) },
    { name: "most at once", number: true, of: (host) => host.most_at_once ?? 0 },
    { name: "occupied", number: true, of: (host) => percent(host.share) },
    { name: "least wait", number: true, of: (host) => span(host.least_wait) },
    { name: "wait \u00f7 fetch", number: true, of: (host) => host.least_ratio == null ? "" :
      host.least_ratio.toLocaleString("en", { maximumFractionDigits: 1 }) },
    { name: "refused", number: true, of: (host) => host.refused ? count(host.refused) : "" },
    { name: "Crawl-delay", number: true, of: (host) => host.crawl_delay ? span(host.crawl_delay) : "" },
    { name: "Retry-After", number: true, of: (host) => host.asked ? span(host.asked) : "" },
    { name: "left", number: true, of: (host) => host.remains ? count(host.remains) : "" },
    { name: "waits", of: (host) => Object.entries(host.waits ?? {}).map(([reason, waits]) =>
      `${reason} ${count(waits.count)}`).join(", ") },
    { name: "not as promised", of: (host) => host.breaches ? el("span", { class: "broken" },
      Object.keys(host.breaches).join(", ")) : "" },
  ], view.shown));
}

// The chart

const rowHeight = () => (view.shown.length <= 8 ? 40 : 22);
const chartWidth = () => Math.max(byId("chart").clientWidth, 500) - LABELS - 8;
const x = (at) => (at - view.from) / (view.to - view.from) * chartWidth();

function draw() {
  const tall = rowHeight(), wide = chartWidth(), high = view.shown.length * tall + AXIS;
  const chart = svg("svg", { width: wide + LABELS + 8, height: high + 4, tabindex: 0, role: "img",
    "aria-label": `Timeline of ${many(view.shown.length, "host")} from ${instant(view.from / 1000)} ` +
      `to ${instant(view.to / 1000)}; the figures are in the table below.` });
  const plot = svg("g", { transform: `translate(${LABELS} ${AXIS})` });
  for (const at of ticks(wide)) chart.append(
    svg("line", { class: "grid", x1: LABELS + x(at), x2: LABELS + x(at), y1: AXIS - 4, y2: high }),
    svg("text", { class: "axis", x: LABELS + x(at), y: AXIS - 9, "text-anchor": "middle" },
      instant(at / 1000, view.to - view.from < 5000 ? 1 : 0)));
  view.shown.forEach((host, number) => {
    const top = number * tall;
    const label = host.host.length > 26 ? host.host.slice(0, 25) + "\u2026" : host.host;
    chart.append(svg("text", { x: LABELS - 8, y: AXIS + top + tall / 2 + 4, "text-anchor": "end",
      ...(host.breaches ? { class: "broken" } : {}) }, label));
    plot.append(svg("line", { class: "line", x1: 0, x2: wide, y1: top + tall, y2: top + tall }));
    plot.append(...bars(host, top + 3, tall - 6));
  });
  chart.append(plot);
  listen(chart);
  const focused = document.activeElement?.closest?.("#chart");
  byId("chart").replaceChildren(chart);
  if (focused) chart.focus();
}

function bars(host, top, tall) {
  const spans = rows.get(host.host);
  if (!spans) return [svg("text", { class: "axis", x: 6, y: top + tall / 2 + 4 }, "not drawn")];
  const paths = kinds.map(() => []), small = kinds.map(() => new Map()), taken = new Set();
  for (let n = 0; n < spans.length; n += 3) {
    const code = spans[n + 2], left = x(spans[n]), right = x(spans[n] + spans[n + 1]);
    if (right < 0 || left > chartWidth() || !KINDS[kinds[code]]) continue;
    const column = Math.floor(Math.max(left, 0));
    if (code < FETCHES) taken.add(column);
    if (code < FETCHES && right - left < 1)
      small[code].set(column, (small[code].get(column) ?? 0) + right - left);
    else join(paths[code], Math.max(left, 0), Math.min(right, chartWidth()));
  }
  const order = [...kinds.keys()].sort((a, b) => (a < FETCHES) - (b < FETCHES) || a - b);
  return order.map((code) => {
    const whole = paths[code].map(([left, right]) => box(left, top, right - left, tall));
    const part = [...small[code]].map(([column, share]) => {
      const height = isCrowded(column, taken) ? Math.max(share * tall, 2) : tall;
      return box(column, top + tall - height, 1, height);
    });
    const d = whole.concat(part).join("");
    return d ? svg("path", { d, fill: paint(kinds[code]), "data-host": host.host, "data-kind": kinds[code] })
      : null;
  }).filter(Boolean);
}

function isCrowded(column, taken) {
  for (let step = 1; step <= NEAR; step++)
    if (taken.has(column - step) || taken.has(column + step)) return true;
  return false;
}

function join(boxes, left, right) {
  const last = boxes.at(-1);
  if (last && left - last[1] < 0.3 && right >= last[0]) last[1] = Math.max(last[1], right);
  else boxes.push([left, right]);
}

const round = (number) => Math.round(number * 100) / 100;
const box = (left, top, wide, tall) =>
  `M${round(left)} ${round(top)}h${round(wide)}v${round(tall)}h${round(-wide)}z`;

function ticks(wide) {
  const least = (view.to - view.from) / 1000 / (wide / 90);
  const steps = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
  const step = 1000 * (steps.find((each) => each >= least) ?? Math.ceil(least / 86400) * 86400);
  const found = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) found.push(at);
  return found;
}

// Zoom and hover

function zoom(factor, about = (view.from + view.to) / 2) {
  const length = Math.min(Math.max((view.to - view.from) * factor, 20), total);
  show(about - (about - view.from) * length / (view.to - view.from), length);
}

function show(from, length) {
  view.from = Math.min(Math.max(from, 0), total - length);
  view.to = view.from + length;
  draw();
}

function listen(chart) {
  const plotX = (event) => event.clientX - chart.getBoundingClientRect().left - LABELS;
  const time = (event) => view.from + plotX(event) / chartWidth() * (view.to - view.from);
  let start = null;
  const select = svg("rect", { class: "select", y: AXIS, height: chart.getAttribute("height") - AXIS - 4, width: 0 });
  chart.append(select);
  chart.addEventListener("pointerdown", (event) => { start = event.button ? null : event.clientX; });
  chart.addEventListener("pointermove", (event) => {
    hover(event, time(event), Math.floor((event.clientY - chart.getBoundingClientRect().top - AXIS) / rowHeight()));
    if (start === null) return;
    const origin = chart.getBoundingClientRect().left;
    select.setAttribute("x", Math.min(start, event.clientX) - origin);
    select.setAttribute("width", Math.abs(event.clientX - start));
  });
  chart.addEventListener("pointerup", (event) => {
    const moved = start === null ? 0 : event.clientX - start;
    if (Math.abs(moved) > 5) {
      const at = time(event), other = at - moved / chartWidth() * (view.to - view.from);
      show(Math.max(Math.min(at, other), 0), Math.max(Math.abs(at - other), 20));
    }
    start = null;
    select.setAttribute("width", 0);
  });
  chart.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
  chart.addEventListener("dblclick", () => show(0, total));
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, time(event));
  }, { passive: false });
  chart.addEventListener("keydown", (event) => {
    const length = view.to - view.from;
    const does = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, total),
      ArrowLeft: () => show(view.from - length / 4, length),
      ArrowRight: () => show(view.from + length / 4, length) }[event.key];
    if (does) { event.preventDefault(); does(); }
  });
}

function hover(event, at, number) {
  const host = view.shown[number], tip = byId("tip"), slack = 2 * (view.to - view.from) / chartWidth();
  tip.hidden = !host || at < view.from;
  if (tip.hidden) return;
  const lines = [host.host, `at ${instant(at / 1000)}`], found = under(rows.get(host.host) ?? [], at, slack);
  if (found) lines.push(
    `${KINDS[found.kind]?.name ?? found.kind}: ${span(found.length / 1000)}, ` +
    `${instant(found.from / 1000)} to ${instant((found.from + found.length) / 1000)}`);
  tip.textContent = lines.join("\n");
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + "px";
}

function under(spans, at, slack) {
  let best = null;
  for (let n = 0; n < spans.length && spans[n] <= at + slack; n += 3) {
    const isFetch = spans[n + 2] < FETCHES, more = isFetch ? slack : 0;
    if (at > spans[n] + spans[n + 1] + more || at < spans[n] - more || (best?.isFetch && !isFetch)) continue;
    best = { from: spans[n], length: spans[n + 1], kind: kinds[spans[n + 2]], isFetch };
  }
  return best;
}

choose();
byId("find").addEventListener("input", choose);
byId("order").addEventListener("change", choose);
byId("back").addEventListener("click", () => turn(-1));
byId("on").addEventListener("click", () => turn(1));
byId("in").addEventListener("click", () => zoom(0.5));
byId("out").addEventListener("click", () => zoom(2));
byId("all").addEventListener("click", () => show(0, total));
addEventListener("resize", draw);
