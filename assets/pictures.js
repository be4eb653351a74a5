/* The chapters' live pictures, in the place of their still ones: kinds of figures for figures.js, which is loaded next.
   Their numbers are stored: tools/pictures.py. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const { element, empty, axes, line, powerOfTen } = root.amemPlots;
  const format = (x) => x.toLocaleString("en");

  /* Faders for the singular values, and below them what a few facts gain by their setting. */
  const FADERS = { width: 400, height: 214, left: 50, right: 8, top: 8, bottom: 40, low: 1e-6, high: 30 };
  function equalizer(box, raw, say) {
    const { faders, s, ranks, questions, answers, places } = root.amemEqualizer, { LAMBDAS, nameOf } = root.amemFigures;
    const lam = LAMBDAS[raw.lambda], { ratios, winners, count } = places[raw.lambda], [upper, lower] = box.querySelectorAll("svg");
    // steps of one size: the squares of all directions add up to their number
    const f = s.map((value) => lam === Infinity ? value : value / Math.hypot(value, lam));
    const size = Math.sqrt(f.reduce((total, value) => total + value * value, 0) / s.length), loudness = faders.map((k) => f[k - 1] / size);
    // Muon as shipped: five Newton–Schulz steps
    const norm = Math.hypot(...s), five = s.map((value) => [1, 2, 3, 4, 5].reduce((x) => x * (3.4445 + x * x * (2.0315 * x * x - 4.775)), value / norm));
    const ripple = Math.hypot(...five) / Math.sqrt(s.length);
    const { width, height, left, right, top, bottom, low, high } = FADERS, base = height - bottom, pitch = (width - left - right) / faders.length;
    const y = (value) => base - Math.log(Math.max(value, low) / low) / Math.log(high / low) * (base - top);
    const told = (value) => value < 0.01 ? value.toExponential(0) : +value.toPrecision(2);
    empty(upper, `Loudness of ${faders.length} of ${s.length} directions of the gradient under ${nameOf(lam)}, where Muon gives 1 to each: the loudest has `
      + `${told(loudness[0])}, the ${faders[20]}th ${told(loudness[20])}, the last ${told(loudness[loudness.length - 1])}`, width, height);
    for (let power = -6; power <= 1; power++) {
      element("line", { x1: left, x2: width - right, y1: y(10 ** power), y2: y(10 ** power), class: power ? "rule" : "here" }, upper);
      powerOfTen({ x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, upper, power);
    }
    element("text", { x: width - right, y: y(1) - 6, "text-anchor": "end", class: "name polar" }, upper, "Muon’s, for all of them");
    element("polyline", { points: faders.map((k, i) => `${left + (i + 0.5) * pitch},${y(five[k - 1] / ripple)}`).join(" "), class: "curve newton" }, upper);
    element("text", { x: width - right - 24, y: y(3e-5), "text-anchor": "end", class: "name newton" }, upper, "five Newton–Schulz steps");
    loudness.forEach((value, k) => {
      const x = left + (k + 0.5) * pitch;
      element("line", { x1: x, x2: x, y1: top, y2: base, class: "rule" }, upper);
      element("rect", { x: x - 2, width: 4, y: Math.min(y(value), y(1)), height: Math.abs(y(value) - y(1)), class: value > 1 ? "pushed" : "pulled", "fill-opacity": 0.45 }, upper);
      element("rect", { x: x - 4, width: 8, y: y(value) - 2.5, height: 5, rx: 1.5, class: "knob" }, upper);
      if (k % 8 === 0 || k === faders.length - 1) element("text", { x, y: base + 15, "text-anchor": "middle" }, upper, faders[k]);
    });
    element("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, upper, `singular value, of ${s.length}, the loudest first`);
    const middle = (top + base) / 2;
    element("text", { x: 9, y: middle, "text-anchor": "middle", transform: `rotate(-90 9 ${middle})` }, upper, "loudness");

    const row = 20, start = 144, end = 300, most = 4, x = (ratio) => start + Math.max(ratio, -0.3) / most * (end - start), foot = 6 + row * ranks.length;
    const called = (rank) => answers[rank] || `fact ${format(rank)}`, won = ranks.map((rank, i) => winners[i] === rank);
    empty(lower, `Own logit over the loudest rival's: ` + questions.map((name, i) => `${name} ${ratios[i].toFixed(2)}`).join(", "), width, foot + 36);
    for (const ratio of [0, 1, 2, 3, 4]) {
      element("line", { x1: x(ratio), x2: x(ratio), y1: 4, y2: foot, class: ratio === 1 ? "here" : "rule" }, lower);
      element("text", { x: x(ratio), y: foot + 14, "text-anchor": "middle" }, lower, ratio);
    }
    ranks.forEach((rank, i) => {
      const y = 6 + row * i, ends = [x(0), x(ratios[i])].sort((a, b) => a - b);
      element("text", { x: start - 13, y: y + 13, "text-anchor": "end" }, lower, `${questions[i]} ${rank}`);
      element("rect", { x: ends[0], width: ends[1] - ends[0], y: y + 3, height: row - 6, class: won[i] ? "bar polar" : "bar quiet" }, lower);
      element("text", { x: end + 6, y: y + 13, class: won[i] ? "won" : "" }, lower, won[i] ? "✓" : `→ ${called(winners[i])}`);
    });
    element("text", { x: (start + end) / 2, y: foot + 31, "text-anchor": "middle" }, lower, "own logit / loudest rival’s");
    const at = ranks.indexOf(150);
    say(`${nameOf(lam)}: ${questions[at]} has ${ratios[at].toFixed(2)} times its loudest rival’s score; ${format(count)} facts recalled`);
    return { lambda: nameOf(lam) };
  }

  /* Facts as dots: those that a batch shows are hollow, those that a step of Muon recalls of it full. Below, how many. */
  const COLUMNS = 64, PITCH = 6.2;
  function tide(box, raw, say) {
    const { batches, first, order, all, places } = root.amemTide;
    const size = batches[raw.batch], { states, seen, polar, sgd } = places[raw.batch], [upper, lower] = box.querySelectorAll("svg");
    const rows = Math.ceil(first / COLUMNS), mark = Math.round(size ** order.shown), full = Math.round(all.polar);
    if (!upper.querySelector("circle")) {
      empty(upper, "", 400, rows * PITCH + 4);
      for (let k = 0; k < first; k++) element("circle", { cx: (k % COLUMNS + 0.75) * PITCH, cy: (Math.floor(k / COLUMNS) + 0.6) * PITCH }, upper);
      for (const type of ["water", "full"]) element("path", { class: type }, upper);
    }
    upper.querySelectorAll("circle").forEach((dot, k) => {
      const pair = +states[k >> 1], state = k % 2 ? pair % 3 : Math.floor(pair / 3);
      dot.setAttribute("class", ["dot", "shown", "lit"][state]);
      dot.setAttribute("r", state ? 2.1 : 1);
    });
    // after so many facts, row by row
    const after = (n) => {
      const row = Math.floor(n / COLUMNS), x = 2 + n % COLUMNS * PITCH, y = row * PITCH + 0.5;
      return row < rows ? `M0 ${y + PITCH}H${x}V${y}H400` : "";
    };
    upper.querySelector(".water").setAttribute("d", after(mark));
    upper.querySelector(".full").setAttribute("d", after(full));
    const text = `The ${format(first)} most frequent facts: a batch of ${format(size)} samples shows ${format(seen)} of all facts, and a step of Muon recalls ${format(polar)}`;
    upper.setAttribute("aria-label", text);
    upper.querySelector("title").textContent = text;

    const plot = axes(lower, [batches[0] / 1.5, batches[batches.length - 1] * 1.5], [1, 10, 100, 1000, 10000], "samples in the batch, B", "facts",
      `Facts against the size of the batch, at ${format(size)} samples: ${format(seen)} seen, Muon recalls ${format(polar)}, SGD ${format(sgd)}`, true);
    const at = (read) => batches.map((one, k) => [one, read(places[k], one)]);
    line(plot, at((_, one) => one ** order.shown), "water");
    line(plot, [batches[0] / 1.5, batches[batches.length - 1] * 1.5].map((one) => [one, all.polar]), "full");
    for (const name of ["sgd", "polar"]) line(plot, at((one) => one.law[name]), "curve " + name);
    line(plot, at((one) => one.law.seen), "curve seen");
    batches.forEach((one, k) => {
      const here = k === raw.batch;
      for (const name of ["sgd", "polar", "seen"]) element("circle", { cx: plot.x(one), cy: plot.y(places[k][name]), r: here ? 5.5 : 3, class: name === "seen" ? "shown" : "point " + name }, lower);
    });
    line(plot, [[size, 1], [size, 10000]], "here");
    const last = places[places.length - 1], x = plot.x(batches[batches.length - 1]);
    for (const [name, words, up] of [["seen", "seen", -12], ["polar", "Muon", 18], ["sgd", "SGD", -10]]) {
      element("text", { x, y: plot.y(last[name]) + up, "text-anchor": "end", class: "name " + name }, lower, words);
    }
    say(`${format(size)} samples show ${format(seen)} facts; one step of Muon recalls ${format(polar)}, one of SGD ${format(sgd)}`);
    return { batch: `B = ${format(size)}` };
  }

  /* The exponents of Theorems 9 and 10 as stairs: SGD climbs from the ground, smoothed Muon starts on the landing. */
  function staircase(box, raw, say) {
    const { alphas, paths } = root.amemStaircase, alpha = alphas[raw.alpha], path = paths[raw.alpha];
    const last = path.sgd.length - 1, told = (name) => path[name].map((value) => value.toFixed(2)).join(", ");
    const plot = axes(box.querySelector("svg"), [-0.5, last + 0.5], [0, 0.5, 1, 1.5, 2], "steps", "exponent of the facts recalled",
      `Exponents after 0 to ${last} steps at α = ${alpha}: SGD ${told("sgd")}; smoothed Muon ${told("smoothed")}`, false, path.sgd.map((value, step) => step));
    for (const level of [1, 2]) line(plot, [[-0.5, level], [last + 0.5, level]], "here");
    element("text", { x: plot.x(last + 0.45), y: plot.y(1) + 16, "text-anchor": "end" }, plot.svg, "d facts");
    element("text", { x: plot.x(-0.45), y: plot.y(2) + 16 }, plot.svg, "d² facts");
    for (const name of ["smoothed", "sgd"]) {
      line(plot, path[name].flatMap((value, step) => [[step - 0.5, value], [step + 0.5, value]]), "curve " + name);
    }
    ["smoothed", "Muon"].forEach((word, k) => element("text", { x: plot.x(-0.45), y: plot.y(1) + 16 + 14 * k, class: "name smoothed" }, plot.svg, word));
    element("text", { x: plot.x(-0.45), y: plot.y(0) - 8, class: "name sgd" }, plot.svg, "SGD");
    const landed = path.sgd.findIndex((value) => value >= 0.9999);
    say(`α = ${alpha}: after ${landed} steps SGD has the exponent ${path.sgd[landed].toFixed(2)} and smoothed Muon ${path.smoothed[landed].toFixed(2)}`);
    return { alpha: `α = ${alpha}` };
  }

  root.amemKinds = { equalizer, tide, staircase };
})(globalThis);
