"use strict";
const SVG = "http://www.w3.org/2000/svg";
const HOME = location.pathname.replace(/\/+$/, "");
const OUTCOMES = { running: "Running", done: "Done", failed: "Failed", interrupted: "Interrupted", lost: "Lost" };
const cards = new Map(); // by the name of the fit

// ---------------------------------------------------------------- numbers as people read them

function scaled(value, units, step) {
  let unit = 0;
  while (value >= step * 0.9995 && unit < units.length - 1) { value /= step; unit += 1; }
  return [significant(value), units[unit]];
}
function significant(value) {
  if (!Number.isFinite(value)) return "?"; // not told
  if (value === 0) return "0";
  if (value >= 1e5 || value < 1e-3) return value.toExponential(2).replace("e+", "e");
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(3);
}
const bytes = (value) => scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const counted = (value) => scaled(value, ["", "k", "M", "G"], 1000);
function whole(value) { return !Number.isFinite(value) ? "?" : Math.round(value).toLocaleString("en").replaceAll(",", "\u2009"); }
function seconds(value) {
  if (!Number.isFinite(value)) return "?";
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const minutes = Math.floor(Math.round(value) / 60), rest = Math.round(value) % 60;
  if (minutes < 60) return `${minutes} min ${String(rest).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
const clock = (time) => new Date(time * 1000).toLocaleTimeString("en-GB");

// ---------------------------------------------------------------- the document

function make(tag, name, ...children) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...children);
  return node;
}
function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function say(node, text) { if (node.textContent !== text) node.textContent = text; }
function list(node, children) { node.replaceChildren(...children.filter(Boolean)); }

function card() {
  const parts = {
    name: make("h2"), badge: make("span", "badge"), when: make("span", "when"), message: make("p", "message"),
    where: make("p", "where"), bar: make("div", "bar"), figures: make("dl"), memory: make("p", "memory"),
    meter: make("div", "bar"), charts: make("div", "charts"), stages: make("tbody"), drawn: "",
  };
  parts.filled = make("i");
  parts.bar.append(parts.filled);
  parts.bar.setAttribute("role", "progressbar");
  parts.bar.setAttribute("aria-label", "Progress of the stage or of all epochs");
  parts.meter.setAttribute("aria-hidden", "true"); // the line above it says the same
  const head = make("tr", "", make("th", "", "Stage"), make("th", "number", "Times"), make("th", "number", "Seconds"));
  const table = make("table", "", make("thead", "", head), parts.stages);
  parts.details = make("details", "", make("summary", "", "Time by stage"), table);
  parts.root = make("article", "", make("div", "head", parts.name, parts.badge, parts.when), parts.message,
    parts.where, parts.bar, parts.figures, parts.memory, parts.meter, parts.charts, parts.details);
  return parts;
}

// ---------------------------------------------------------------- one fit

function show(parts, fit) {
  const running = fit.outcome === "running";
  say(parts.name, fit.estimator);
  say(parts.badge, OUTCOMES[fit.outcome] || fit.outcome);
  parts.badge.className = `badge ${fit.outcome}`;
  const columns = fit.sizes.columns === 1 ? "column" : "columns";
  say(parts.when, `${whole(fit.sizes.rows)} rows, ${whole(fit.sizes.columns)} ${columns}, from ${clock(fit.started)}`);
  say(parts.message, fit.message);
  parts.message.hidden = !fit.message;
  list(parts.where, where(fit, running));
  parts.where.hidden = !parts.where.firstChild;
  parts.bar.hidden = !running;
  const share = shareDone(fit);
  parts.filled.style.width = `${100 * share}%`;
  parts.bar.setAttribute("aria-valuenow", String(Math.round(100 * share)));
  list(parts.figures, figures(fit, running));
  memory(parts, fit);
  charts(parts, fit.charts);
  list(parts.stages, fit.stages.map(([name, times, spent]) =>
    make("tr", "", make("td", "", name), make("td", "number", whole(times)), make("td", "number", spent.toFixed(2)))));
  parts.details.hidden = !fit.stages.length;
}

function shareDone(fit) {
  const { plan, stage } = fit;
  if (fit.epochs_done !== null) return Math.min(1, fit.epochs_done / plan.epochs);
  return stage.total ? Math.min(1, stage.done / stage.total) : 0;
}

function where(fit, running) {
  const { plan, step, stage } = fit, said = [];
  if (fit.epochs_done !== null) {
    const whole = Math.floor(fit.epochs_done + 1e-9), part = fit.epochs_done - whole;
    said.push(running ? `Epoch ${Math.min(whole + 1, plan.epochs)} of ${plan.epochs}` : `${whole} of ${plan.epochs} epochs`);
    if (running && plan.rounds > 1 && whole < plan.epochs) said.push(`round ${Math.floor(Math.max(0, part) * plan.rounds) + 1} of ${plan.rounds}`);
  }
  if ("iteration" in step) said.push(running ? `Iteration ${step.iteration} of at most ${plan.iterations}` : `${step.iteration} iterations`);
  const found = said.length ? [make("span", "", said.join(", "))] : [];
  if (running && stage.name) {
    const blocks = stage.total ? `, ${whole(stage.done)} of ${whole(stage.total)} blocks` : "";
    found.push(make("span", "quiet", `${stage.name}${blocks}, ${seconds(stage.seconds)}`));
  }
  return found;
}

function figures(fit, running) {
  const { rates, figures: found, plan } = fit;
  const one = (name, value, unit) => [make("dt", "", name), make("dd", "", value, " ", make("small", "", unit || ""))];
  const pair = (name, [value, unit], per) => one(name, value, unit + per);
  const shown = [one(running ? "Elapsed" : "Took", seconds(fit.seconds))];
  if (fit.left !== null) shown.push(one("Time left", seconds(fit.left), fit.left_is === "at most" ? "at most" : "as planned"));
  if ("rows" in rates) shown.push(one("Throughput", counted(rates.rows).join(""), "rows/s"));
  if ("flops" in rates) shown.push(one("Arithmetic", significant(rates.flops / 1e9), "GFLOP/s"));
  if ("bytes" in rates) shown.push(pair("Read from storage", bytes(rates.bytes), "/s"));
  if (found.train_mse != null) shown.push(one("Training residual", significant(found.train_mse)));
  if (found.validation_mse != null) shown.push(one("Validation residual", significant(found.validation_mse)));
  if (found.validation_error != null) shown.push(one("Validation error", (100 * found.validation_error).toFixed(2), "%"));
  if (found.shift != null) shown.push(one("Squared shift", significant(found.shift), `stops below ${significant(found.threshold)}`));
  if (plan.flops) shown.push(one(plan.epochs ? "Planned for the epochs" : "Planned", `${significant(plan.flops / 1e9)} GFLOP`, `in ${seconds(plan.seconds)}`));
  return shown.map((pairOf) => make("div", "", ...pairOf));
}

function memory(parts, fit) {
  const { now, peak, plan, limit } = fit.memory, joined = (value) => bytes(value).join(" ");
  parts.memory.hidden = parts.meter.hidden = !peak;
  const said = [fit.outcome === "running" ? `${joined(now)} now` : "", `${joined(peak)} at most`, plan ? `planned ${joined(plan)}` : "",
    limit ? `limit ${joined(limit)}` : ""].filter(Boolean).join(", ");
  list(parts.memory, [make("strong", "", "Memory of the fullest worker"), ` ${said}`]);
  const most = Math.min(limit || Infinity, 1.25 * Math.max(peak, plan));
  const bar = (name, value) => {
    const node = make(name === "plan" ? "b" : "i", name);
    node.style[name === "plan" ? "left" : "width"] = `${Math.min(99.5, (100 * value) / most)}%`;
    return node;
  };
  list(parts.meter, [bar("peak", peak), fit.outcome === "running" && bar("now", now), plan && bar("plan", plan)]);
}

// ---------------------------------------------------------------- curves

function charts(parts, found) {
  const drawn = JSON.stringify([found, parts.charts.clientWidth]);
  if (drawn === parts.drawn) return;
  parts.drawn = drawn;
  const figuresOf = found.map((chart) => {
    const keys = chart.series.map((curve, i) => curve.points.some(([, y]) => y > 0 || chart.scale !== "log") && make("span", `key s${i}`, curve.name)).filter(Boolean);
    return make("figure", "", make("figcaption", "", make("strong", "", chart.title), ...keys));
  });
  list(parts.charts, figuresOf);
  figuresOf.forEach((figure, i) => figure.append(chartOf(found[i], figure.clientWidth || 480)));
}

function chartOf(chart, width) { // curves are [x, y]; a log scale leaves out what is 0
  const height = 190, left = 56, right = 14, top = 12, bottom = 34;
  const log = chart.scale === "log", share = chart.scale === "share";
  const points = chart.series.flatMap((curve) => curve.points).filter(([, y]) => !log || y > 0);
  const said = chart.series.map((c) => `${c.name} ${significant(c.points.at(-1)[1])} at ${chart.x} ${significant(c.points.at(-1)[0])}`);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${said.join("; ")}` });
  if (!points.length) return svg;
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const x0 = Math.min(0, ...xs), x1 = Math.max(1, ...xs);
  const ticks = log ? decades(Math.min(...ys), Math.max(...ys)) : evenly(0, Math.max(...ys) || 0.01, 4);
  const y0 = log ? Math.min(ticks[0], ...ys) / 1.2 : 0, y1 = Math.max(ticks.at(-1), ...ys) * (log ? 1.2 : 1);
  const height01 = (y) => log ? (Math.log(y) - Math.log(y0)) / (Math.log(y1) - Math.log(y0) || 1) : (y - y0) / (y1 - y0 || 1);
  const px = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const py = (y) => height - bottom - height01(y) * (height - top - bottom);
  const digits = share ? Math.max(0, Math.ceil(-Math.log10(100 * (ticks[1] - ticks[0])) - 1e-9)) : 0;
  for (const y of ticks) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: py(y), y2: py(y) }));
    const text = share ? `${(100 * y).toFixed(digits)} %` : short(y);
    svg.append(draw("text", { x: left - 8, y: py(y) + 4, "text-anchor": "end" }, text));
  }
  svg.append(draw("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  const along = evenly(x0, x1, 6).filter((x) => Number.isInteger(x));
  for (const x of along) svg.append(draw("text", { x: px(x), y: height - bottom + 16, "text-anchor": "middle" }, String(x)));
  svg.append(draw("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, chart.x));
  chart.series.forEach((curve, i) => {
    const seen = curve.points.filter(([, y]) => !log || y > 0);
    svg.append(draw("polyline", { class: `s${i}`, points: seen.map(([x, y]) => `${px(x)},${py(y)}`).join(" ") }));
    if (seen.length && seen.length < 40) for (const [x, y] of seen) svg.append(draw("circle", { class: `s${i}`, cx: px(x), cy: py(y), r: 2.5 }));
  });
  return svg;
}

function short(value) {
  if (value >= 0.001 && value < 10000) return String(Number(value.toPrecision(2)));
  return value.toExponential(0).replace("e+", "e").replace("-", "\u2212");
}
function decades(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const each = last - first <= 2 ? [1, 2, 5] : [1], every = Math.max(1, Math.ceil((last - first) / 5)), found = [];
  for (let e = first; e <= last; e += every) for (const m of each) found.push(m * 10 ** e);
  const inside = found.filter((y) => y >= low * 0.999 && y <= high * 1.001);
  return inside.length > 1 ? inside : [low, high];
}
function evenly(low, high, most) {
  const raw = (high - low) / most, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * size).find((s) => s >= raw * 0.999), found = [];
  for (let i = Math.ceil(low / step); i * step <= high * 1.001; i += 1) found.push(Number((i * step).toPrecision(12)));
  if (found.length < 2) found.push(found.at(-1) + step);
  return found;
}

// ---------------------------------------------------------------- once a second

function all(state) {
  const main = document.getElementById("fits"), known = new Set(state.fits.map((fit) => fit.fit));
  for (const [name, parts] of cards) if (!known.has(name)) { parts.root.remove(); cards.delete(name); }
  if (state.fits.length) main.querySelector(".note")?.remove();
  else if (!main.firstChild) main.append(make("p", "note", "No fit has run on this cluster yet."));
  let before = null;
  for (const fit of state.fits.toReversed()) {
    if (!cards.has(fit.fit)) { cards.set(fit.fit, card()); main.insertBefore(cards.get(fit.fit).root, before); }
    before = cards.get(fit.fit).root;
    show(cards.get(fit.fit), fit);
  }
  const about = document.getElementById("about"), n = state.fits.filter((fit) => fit.outcome === "running").length;
  about.className = "";
  say(about, `${n} running, ${state.workers} ${state.workers === 1 ? "worker" : "workers"}`);
  document.title = n ? `${n} running - daskkernels` : "Fits - daskkernels";
}

let answered = Date.now() / 1000;
async function poll() {
  try {
    const answer = await fetch(`${HOME}/state.json`, { cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error(String(answer.status));
    all(await answer.json());
    answered = Date.now() / 1000;
  } catch (error) {
    const about = document.getElementById("about");
    about.className = "lost";
    say(about, `No answer from the scheduler since ${clock(answered)}`);
    if (error instanceof TypeError === false && error.name !== "TimeoutError" && error.name !== "AbortError") console.error(error);
  }
  setTimeout(poll, 1000);
}
document.getElementById("dashboard").href = HOME.replace(/daskkernels$/, "status");
poll();
