/* What the explorer and the essay's figures draw, each in an <svg> that it is given: `amemPlots`. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const SVG = "http://www.w3.org/2000/svg";
  const NAMES = { polar: "Muon", smoothed: "Muon (h_λ)", sgd: "SGD", newton: "Newton", own: "your own f" };

  const format = (x) => x >= 9999.5 ? Math.round(x).toLocaleString("en") : String(+x.toPrecision(4));
  const short = (x) => x >= 100 ? format(Math.round(x)) : String(+x.toPrecision(3));

  function element(name, attributes, parent, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  function powerOfTen(place, svg, power) {
    const text = element("text", place, svg, "10");
    element("tspan", { dy: "-0.45em", "font-size": "0.77em" }, text, String(power).replace("-", "−"));
  }

  /* An empty picture with its words for those who do not see it, up to date from now on. */
  function empty(svg, description, width = 400, height = 260) {
    svg.replaceChildren();
    svg.classList.remove("stale");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("aria-label", description);
    element("title", {}, svg, description);
  }

  /* Axes of a picture, x logarithmic in powers of ten unless `plain`. Returns the maps from data to the picture. */
  function axes(svg, xRange, yTicks, xLabel, yLabel, description, logarithmic, plain) {
    const left = 62, right = 10, top = 10, bottom = 52, width = 400, height = 260;
    empty(svg, description, width, height);
    const scale = plain ? (value) => value : Math.log10;
    const [low, high] = xRange.map(scale), yMax = yTicks[yTicks.length - 1];
    const x = (value) => left + (scale(value) - low) / (high - low) * (width - left - right);
    const up = logarithmic ? (value) => Math.log(value / yTicks[0]) / Math.log(yMax / yTicks[0]) : (value) => value / yMax;
    const y = (value) => height - bottom - up(value) * (height - top - bottom);
    const every = Math.ceil((high - low) / 6);
    for (let power = Math.ceil(low); !plain && power <= high; power++) {
      if ((power - Math.ceil(low)) % every) continue;
      element("line", { x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom, class: "rule" }, svg);
      powerOfTen({ x: x(10 ** power), y: height - bottom + 20, "text-anchor": "middle" }, svg, power);
    }
    for (const value of plain || []) element("text", { x: x(value), y: height - bottom + 20, "text-anchor": "middle" }, svg, String(value).replace("-", "−"));
    for (const value of yTicks) {
      element("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "rule" }, svg);
      const place = { x: left - 6, y: y(value) + 4, "text-anchor": "end" };
      if (logarithmic) powerOfTen(place, svg, Math.round(Math.log10(value)));
      else element("text", place, svg, String(+value.toPrecision(2)));
    }
    element("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, svg, xLabel);
    const middle = (top + height - bottom) / 2;
    element("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, svg, yLabel);
    const at = (px, py) => [10 ** (low + (px - left) / (width - left - right) * (high - low)), (height - bottom - py) / (height - top - bottom) * yMax];
    return { svg, x, y, at };
  }

  function line(plot, points, type) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}`).join("");
    element("path", { d: path, class: type }, plot.svg);
  }

  /* The names of the curves, in their colours, below one another at the upper right of a picture or at `x`. */
  function key(plot, names, x = 388) {
    names.forEach((name, k) => element("text", { x, y: 22 + 16 * k, "text-anchor": "end", class: "name " + name }, plot.svg, NAMES[name]));
  }

  /* The share recovered at each rank: curves of [rank, share], the names of optimizers beside them. */
  function ranks(svg, answers, nItems) {
    const text = "Probability of recovery against rank. " + answers.map(({ optimizer, curve }) => {
      const half = curve.find(([, value]) => value < 0.5);
      return `${NAMES[optimizer]}: ${half ? `below one half from rank ${short(half[0])} on` : "above one half everywhere"}.`;
    }).join(" ");
    const plot = axes(svg, [1, Math.max(nItems, 10)], [0, 0.25, 0.5, 0.75, 1], "rank of the item", "probability of recovery", text);
    for (const { optimizer, curve } of [...answers].reverse()) line(plot, curve, "curve " + optimizer);
    key(plot, answers.map(({ optimizer }) => optimizer));
  }

  /* The density of ln s, points [s, density] of engine.spectrum, and the map f that each optimizer applies. */
  function spectrum(svg, points, t0, lamOverT0, names, axis = "singular value / t₀", own = null) {
    const law = points.map(([s, density]) => [s / t0, density]);
    const body = law.filter(([s]) => s < 100), peak = Math.max(...body.map(([, density]) => density));
    const seen = law.filter(([, density]) => density > 1e-3 * peak);
    const range = [Math.max(seen[0][0], 1e-3), seen[seen.length - 1][0] * 1.2];
    const maps = { polar: () => 1, smoothed: (s) => s / Math.hypot(s, lamOverT0), sgd: (s) => s / range[1], ...(own && { own }) };
    const shown = names.filter((name) => name in maps);
    const text = "Density of the logarithm of the gradient's singular values in units of t₀, largest value of the bulk 1"
      + (shown.length ? ", with the map f that each optimizer applies to them." : ".");
    const plot = axes(svg, range, [0, 0.25, 0.5, 0.75, 1], axis, shown.length ? "density, and f(s)" : "density", text);
    const inside = law.filter(([s]) => s >= range[0]).map(([s, density]) => [s, Math.min(Math.max(density / peak, 0), 1)]);
    line(plot, [[inside[0][0], 0], ...inside, [inside[inside.length - 1][0], 0]], "area");
    for (const name of [...shown].reverse()) line(plot, inside.map(([s]) => [s, maps[name](s)]), "curve " + name);
    return plot;
  }

  /* The reader's map while a stroke goes on. */
  function preview(plot, f) {
    const old = plot.svg.querySelector(".curve.own");
    if (old) old.remove();
    const points = Array.from({ length: 129 }, (_, k) => plot.at(62 + 328 * k / 128, 0)[0]).map((s) => [s, Math.min(f(s), 1)]);
    line(plot, points, "curve own");
  }

  /* What was counted under this name for the same exponent and (to 3 %) the same number of items. */
  function counted(records, name, state) {
    const near = (x, y) => Math.abs(Math.log(x / y)) < 0.03;
    return state.source !== "power" ? [] : records.filter((point) => point.optimizer === name && near(point.alpha, state.alpha)
      && near(point.nItems, state.nItems) && (name !== "smoothed" || near(point.lam, state.lamOverT0)));
  }

  /* Curves {name, curve} of counts and stored points [at, count, name] on two logarithmic axes, with a line at `here`. */
  function counts(svg, curves, points, labels, range, here) {
    const values = [...curves.flatMap(({ curve }) => curve), ...points].map(([, count]) => count);
    const low = Math.floor(Math.log10(Math.max(Math.min(...values), 1))), high = Math.ceil(Math.log10(Math.max(...values, 10)));
    const ticks = Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k));
    const ends = curves.map(({ name, curve }) => `${NAMES[name]}: ${short(curve[0][1])} at ${labels.letter} = ${format(curve[0][0])} `
      + `and ${short(curve[curve.length - 1][1])} at ${labels.letter} = ${format(curve[curve.length - 1][0])}`);
    const text = `Items after one step against ${labels.letter}, ${ends.join("; ")}. ${points.length} counted points.`;
    const plot = axes(svg, range, ticks, labels.axis, labels.counted || "items after one step", text, true);
    const shown = (count) => Math.max(count, ticks[0]);
    for (const { name, curve } of curves) line(plot, curve.map(([at, count]) => [at, shown(count)]), "curve " + name);
    for (const [at, count, name] of points) {
      element("circle", { cx: plot.x(at).toFixed(1), cy: plot.y(shown(count)).toFixed(1), r: 4, class: "point " + name }, plot.svg);
    }
    if (here >= range[0] && here <= range[1]) element("line", { x1: plot.x(here), x2: plot.x(here), y1: 10, y2: 208, class: "here" }, plot.svg);
    return plot;
  }

  /* All curves {points, curve}, point by point, so that nobody waits for more than one; then `done`. Given up as soon as
     `current` says that it is. */
  function gathered(current, curves, done) {
    const open = curves.find((one) => !one.full);
    if (!open) { done(curves); return; }
    setTimeout(() => {
      if (!current()) return;
      const { value, done: full } = open.points.next();
      if (full) open.full = true; else open.curve.push(value);
      gathered(current, curves, done);
    }, 10);
  }

  root.amemPlots = { NAMES, format, short, element, powerOfTen, empty, axes, line, key, ranks, spectrum, preview, counted, counts, gathered };
})(globalThis);
