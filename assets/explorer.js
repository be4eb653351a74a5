/* The explorer: every control of the engine, four plots, and an address that keeps what was chosen. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const core = root.amemEngine, plots = root.amemPlots, { NAMES, format, short } = plots;
  const DEFAULTS = { source: "power", alpha: 1.5, d: 8, n: 4.7, b: 41, experts: 0, k: 0, lambda: 0, steps: 1, optimizer: "polar", other: "sgd" };
  const FLAT = core.MAP_NODES.map(() => 1);
  const INFINITE_BATCH = 41;
  const BATCHES = Array.from({ length: 13 }, (_, k) => 4 ** (k + 1));
  const OUTSIDE = "several steps were compared with counts for 1.25 ≤ α ≤ 2, 128 ≤ d ≤ 256 and 20 d ≤ N ≤ 65 536 only";
  let box, inputs, timer, job = 0, map = FLAT, plot = null;

  /* What the controls stand for. */
  function stateOf(raw) {
    const listed = raw.source === "power" ? Infinity : core.listSize(raw.source), experts = 2 ** raw.experts;
    return {
      source: raw.source, optimizer: raw.optimizer, other: raw.other, alpha: raw.alpha, steps: raw.steps,
      dim: Math.round(2 ** raw.d), nItems: Math.min(+(10 ** raw.n).toPrecision(2), listed),
      batchSize: raw.b >= INFINITE_BATCH ? Infinity : Math.round(2 ** raw.b), lamOverT0: 10 ** raw.lambda,
      experts, topK: Math.min(2 ** raw.k, experts), map,
    };
  }

  function read() {
    const raw = {};
    for (const [name, input] of Object.entries(inputs)) raw[name] = input.type === "range" ? +input.value : input.value;
    return raw;
  }

  function write(raw) {
    for (const [name, input] of Object.entries(inputs)) {
      if (input.type === "range") input.value = raw[name];
      else if ([...input.options].some((option) => option.value === raw[name])) input.value = raw[name];
    }
  }

  function fromHash() {
    const raw = { ...DEFAULTS };
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      if (!(name in DEFAULTS)) continue;
      const given = typeof DEFAULTS[name] === "number" ? parseFloat(value) : value;
      if (given === given) raw[name] = given;
    }
    return raw;
  }

  function mapFromHash() {
    const values = (new URLSearchParams(location.hash.slice(1)).get("f") || "").split("_").map(Number);
    const good = values.length === FLAT.length && values.every((one) => one >= 0 && one <= 1) && Math.max(...values) > 0;
    map = good ? values : FLAT;
  }

  function toHash(raw) {
    const changed = Object.entries(raw).filter(([name, value]) => value !== DEFAULTS[name]);
    if (map !== FLAT) changed.push(["f", map.map((one) => +one.toFixed(3)).join("_")]);
    const hash = new URLSearchParams(changed).toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function label(name, text) {
    inputs[name].closest("label").querySelector(".value").textContent = text;
    if (inputs[name].type === "range") inputs[name].setAttribute("aria-valuetext", text);
  }

  /* More steps than one have a count for the polar map on a power law's population. */
  const stepwise = (raw, state, optimizer) =>
    raw.steps > 1 && optimizer === "polar" && raw.source === "power" && !isFinite(state.batchSize);

  function changed() {
    const raw = read();
    toHash(raw);
    showLabels(raw, stateOf(raw));
    job++;
    box.dataset.drawn = "false";
    box.setAttribute("aria-busy", "true");
    for (const one of box.querySelectorAll("svg, .tiles")) one.classList.add("stale");
    clearTimeout(timer);
    timer = setTimeout(() => compute(raw, stateOf(raw)), 40);
  }

  function showLabels(raw, state) {
    label("alpha", raw.alpha.toFixed(2));
    label("d", format(state.dim));
    label("n", format(state.nItems));
    label("b", isFinite(state.batchSize) ? format(state.batchSize) : "∞, the population");
    label("experts", String(state.experts));
    label("k", String(state.topK));
    label("lambda", String(+state.lamOverT0.toPrecision(2)) + " t₀");
    const stepped = [raw.optimizer, raw.other].some((name) => stepwise(raw, state, name));
    const counted = !stepped || isFinite(core.trueSteps(state)[0]);
    label("steps", counted ? String(raw.steps) : `${raw.steps}, not counted here`);
    inputs.alpha.disabled = raw.source !== "power";
    inputs.lambda.disabled = raw.optimizer !== "smoothed" && raw.other !== "smoothed";
  }

  /* The recovered share at each rank of the whole list, for the population's bins. */
  function byRank(p, q, probability, batchSize) {
    if (!isFinite(batchSize)) return Array.from(q.values, (_, i) => [q.start[i] + (q.counts[i] + 1) / 2, probability[i]]);
    const curve = [];
    for (let i = 0; i < p.values.length; i++) {
      const mean = batchSize * p.values[i], sd = Math.sqrt(mean);
      let total = 0, mass = 0, k = Math.max(0, Math.floor(mean - 4 * sd)), at = 0;
      const jump = Math.max(1, Math.round(sd / 4));
      for (; k <= mean + 4 * sd + 3; k += jump) {
        const weight = Math.exp(k * Math.log(mean) - mean - lgamma(k + 1)), value = k / batchSize;
        at = nearest(q.values, value);
        total += weight * probability[at];
        mass += weight;
      }
      curve.push([p.start[i] + (p.counts[i] + 1) / 2, mass > 0 ? total / mass : 0]);
    }
    return curve;
  }

  function lgamma(x) {
    if (x < 15) { let t = 0; for (let i = 2; i < x; i++) t += Math.log(i); return t; }
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * x);
  }

  function nearest(values, value) {
    let low = 0, high = values.length - 1;
    while (low < high) { const middle = (low + high) >> 1; if (values[middle] <= value) high = middle; else low = middle + 1; }
    return low > 0 && Math.abs(values[low - 1] - value) < Math.abs(values[low] - value) ? low - 1 : low;
  }

  /* What is known of one optimizer: its count after all steps or NaN, its exponent or NaN, and what its curves show. */
  function answer(raw, state, optimizer) {
    const mine = { ...state, optimizer }, one = core.predict({ ...mine, steps: 1 });
    const exponent = raw.source === "power" && raw.alpha > 1 ? core.exponent(optimizer, raw.alpha, raw.steps) : NaN;
    const result = { optimizer, one, exponent, capacity: one.capacity, history: null };
    result.curve = byRank(one.p, one.q, one.probability, core.tokensOf(state));
    result.full = isFinite(state.batchSize) ? NaN : result.one.capacity;
    if (stepwise(raw, state, optimizer)) {
      // the first step is known exactly, where the others stand between stored solutions
      result.history = core.trueSteps(state).map((count, t) => t || isNaN(count) ? count : one.capacity);
      result.capacity = result.history[raw.steps - 1];
    } else if (raw.steps > 1) result.capacity = NaN;
    return result;
  }

  function notes(raw, answers) {
    if (raw.steps === 1) return "";
    const stepped = answers.find(({ history }) => history), without = answers.filter(({ history }) => !history);
    const lines = [];
    if (stepped) {
      const { history } = stepped;
      lines.push(isFinite(history[0]) ? `${NAMES.polar}, step by step: ${history.map(short).join(", ")} items.`
        : `No count of these steps is shown: ${OUTSIDE}.`);
    }
    if (without.length) {
      lines.push("For more than one step only the polar map has a count here, on a power law's whole population: none is shown for "
        + without.map(({ optimizer }) => NAMES[optimizer]).join(" and ") + ".");
    }
    return lines.concat("All curves are those of one step.").join(" ");
  }

  const known = (x, text) => x === x ? text(x) : "none known";

  function showCount(name, count) {
    show(name, known(count, short));
    box.querySelector(`[data-show="${name}"]`).classList.toggle("unknown", count !== count);
  }

  function compute(raw, state) {
    const mine = job, names = [raw.optimizer];
    if (raw.other !== "none" && raw.other !== raw.optimizer) names.push(raw.other);
    const answers = names.map((name) => answer(raw, state, name)), [first, second] = answers;
    show("name", NAMES[first.optimizer]);
    showCount("capacity", first.capacity);
    show("other-name", second ? NAMES[second.optimizer] : "");
    const ratio = second ? first.capacity / second.capacity : NaN;
    if (second) { showCount("other", second.capacity); showCount("ratio", ratio); }
    for (const one of box.querySelectorAll("[data-second]")) one.hidden = !second;
    show("exponent", answers.map(({ exponent }) => known(exponent, (x) => x.toFixed(3))).join(" and "));
    show("note", notes(raw, answers));
    const tokens = core.tokensOf(state);
    show("tokens", isFinite(tokens) ? format(tokens) : "∞");
    show("kept", "…");
    show("half", "…");
    show("summary", answers.map((one) => one.capacity === one.capacity
      ? `${NAMES[one.optimizer]} recovers about ${short(one.capacity)} of ${format(state.nItems)} items.`
      : `No count is known here for ${NAMES[one.optimizer]} after ${raw.steps} steps${one.history ? `: ${OUTSIDE}` : ""}.`).join(" "));
    box.querySelector(".tiles").classList.remove("stale");
    plots.ranks(svg("ranks"), answers, state.nItems);
    const own = names.includes("own") ? core.drawnMap(state.map, 1) : null;
    plot = plots.spectrum(svg("spectrum"), core.spectrum(first.one.q, state.dim, 0.01), first.one.t0, state.lamOverT0, names, undefined, own);
    svg("spectrum").classList.toggle("drawn", own !== null);
    box.dataset.capacity = first.capacity;
    box.dataset.other = second ? second.capacity : "";
    const remaining = () => later(mine, () => {
      const shares = answers.map(({ optimizer, one, full }) => one.capacity
        / (full === full ? full : core.predict({ ...state, optimizer, steps: 1, batchSize: Infinity }).capacity));
      show("kept", shares.map((share) => `${Math.round(100 * share)} %`).join(" and "));
      box.dataset.kept = shares[0];
      const batches = [0.5, 0.9].map((share) => core.halfBatch(state, share));
      const said = (one) => one === null ? "below 2" : one > 9e11 ? "beyond 10¹²" : short(one * state.experts / state.topK);
      show("half", batches.map(said).join(" and "));
      box.setAttribute("aria-busy", "false");
      box.dataset.drawn = "true";
    });
    drawDimensions(mine, state, names, () => drawBatches(mine, state, names, remaining));
  }

  /* Work that waits until the page has answered, and is not done if the controls have moved by then. */
  function later(mine, work) { setTimeout(() => { if (mine === job) work(); }, 10); }

  function show(name, text) { box.querySelector(`[data-show="${name}"]`).textContent = text; }

  const svg = (name) => box.querySelector(`svg[data-plot="${name}"]`);

  function drawDimensions(mine, state, names, done) {
    const records = isFinite(state.batchSize) ? [] : root.amemExplorerData.records;
    const points = names.flatMap((name) => plots.counted(records, name, state).map(({ dim, count }) => [dim, count, name]));
    const highest = Math.max(4096, ...points.map(([dim]) => dim)), dims = [];
    for (let dim = 32; dim <= highest; dim *= 2) dims.push(dim);
    const curves = names.map((name) => ({ name, curve: [], points: core.dimensionCounts({ ...state, optimizer: name }, dims) }));
    plots.gathered(() => mine === job, curves, () => {
      plots.counts(svg("dimensions"), curves, points, { letter: "d", axis: "dimension d" }, [32, highest], state.dim);
      box.dataset.points = points.length;
      done();
    });
  }

  function drawBatches(mine, state, names, done) {
    const records = root.amemExplorerData.batches.filter(({ dim }) => dim === state.dim);
    const points = names.flatMap((name) => plots.counted(records, name, state).map(({ batchSize, count }) => [batchSize, count, name]));
    const curves = names.map((name) => ({ name, curve: [], points: core.batchCounts({ ...state, optimizer: name }, BATCHES) }));
    const range = [BATCHES[0], BATCHES[BATCHES.length - 1]];
    plots.gathered(() => mine === job, curves, () => {
      plots.counts(svg("batches"), curves, points, { letter: "B", axis: "tokens that the memory sees" }, range, core.tokensOf(state));
      box.dataset.batchPoints = points.length;
      done();
    });
  }

  /* The reader's list becomes one of the sources, and stays on this page: no link holds it. */
  function pasted() {
    const text = box.querySelector("textarea[data-list]").value, { size, error } = core.readList(text);
    show("list", error ? `Not read: ${error}.` : `Read: ${format(size)} items.`);
    if (error) return;
    if (![...inputs.source.options].some(({ value }) => value === "list")) inputs.source.add(new Option("your list", "list"));
    inputs.source.value = "list";
    changed();
  }

  function pastedMap() {
    const { values, error } = core.readMap(box.querySelector("textarea[data-map]").value);
    show("map", error ? `Not read: ${error}.` : "Read.");
    if (error) return;
    map = values;
    inputs.optimizer.value = "own";
    changed();
  }

  /* A stroke over the spectrum sets f at the nodes that it passes; f keeps its largest value at 1 or below. */
  function drawing() {
    const area = svg("spectrum");
    let last = null;
    const place = (event) => {
      const corner = area.getBoundingClientRect(), view = area.viewBox.baseVal;
      return plot.at((event.clientX - corner.left) / corner.width * view.width, (event.clientY - corner.top) / corner.height * view.height);
    };
    const stroke = (event) => {
      if (last === null) return;
      const [s, value] = place(event), to = Math.log10(s), level = Math.min(Math.max(value, 0), 1), from = last;
      const near = (core.MAP_NODES[1] - core.MAP_NODES[0]) / 2, [a, b] = [Math.min(from, to) - near, Math.max(from, to) + near];
      const next = map.map((old, k) => core.MAP_NODES[k] >= a && core.MAP_NODES[k] <= b ? level : old);
      last = to;
      if (Math.max(...next) > 0) map = next;
      plots.preview(plot, core.drawnMap(map, 1));
    };
    area.addEventListener("pointerdown", (event) => {
      if (!plot || !area.classList.contains("drawn")) return;
      event.preventDefault();
      area.setPointerCapture(event.pointerId);
      last = Math.log10(place(event)[0]);
      stroke(event);
    });
    area.addEventListener("pointermove", stroke);
    for (const name of ["pointerup", "pointercancel"]) area.addEventListener(name, () => { if (last !== null) { last = null; changed(); } });
  }

  function start() {
    box = document.getElementById("amem-explorer");
    if (!box) return;
    inputs = Object.fromEntries([...box.querySelectorAll("input, select")].map((input) => [input.name, input]));
    for (const [code, { name }] of Object.entries(root.amemExplorerData.languages)) {
      inputs.source.add(new Option(`words of ${name}`, code));
    }
    write(fromHash());
    mapFromHash();
    for (const input of Object.values(inputs)) input.addEventListener("input", changed);
    window.addEventListener("hashchange", () => { write(fromHash()); mapFromHash(); changed(); });
    box.querySelector("button[data-do=reset]").addEventListener("click", () => { write(DEFAULTS); map = FLAT; changed(); });
    box.querySelector("button[data-do=list]").addEventListener("click", pasted);
    box.querySelector("button[data-do=map]").addEventListener("click", pastedMap);
    drawing();
    changed();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})(globalThis);
