/* Figures that a page embeds: <figure class="amem live" data-figure="KIND"> with its range inputs, an <output> and its
   <svg>s in it, for each KIND below. The input's value is a place on the KIND's scale. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const core = root.amemEngine, plots = root.amemPlots, { format, short } = plots;
  const MEMORY = { source: "power", alpha: 1.5, dim: 256, nItems: 50000, batchSize: Infinity };
  const LAMBDAS = [Infinity, ...Array.from({ length: 21 }, (_, k) => 10 ** (3 - k / 4)), 0];
  const RANKS = [10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 400, 600];
  const whole = (x) => format(Math.round(x)), times = (x) => short(+x.toPrecision(2));

  /* h_λ between its two ends: SGD where λ = ∞, Muon where λ = 0. */
  const between = (lam) => ({ ...MEMORY, lamOverT0: lam, optimizer: lam === Infinity ? "sgd" : lam === 0 ? "polar" : "smoothed" });
  const nameOf = (lam) => lam === Infinity ? "SGD" : lam === 0 ? "Muon" : `λ = ${+lam.toPrecision(2)} t₀`;

  function kept(make) {
    const found = new Map();
    return (key) => { if (!found.has(key)) found.set(key, make(key)); return found.get(key); };
  }

  const recalled = kept((lam) => {
    const { q, probability, capacity } = core.predict(between(lam), lam === Infinity ? undefined : 0.05);
    return { q, probability, capacity };
  });
  const law = kept(() => core.spectrum(core.powerLaw(MEMORY.alpha, MEMORY.nItems), MEMORY.dim, 0.01));
  const t0 = kept(() => core.lambdaUnit(MEMORY));

  const COLUMNS = 64, ROWS = 25, PITCH = 6.2, GAP = 18;

  /* A dot a fact, the bluer, the likelier it is recalled; the first d of them stand apart. */
  function dots(box, raw, say) {
    const lam = LAMBDAS[raw.lambda], { q, probability, capacity } = recalled(lam), svg = box.querySelector("svg");
    if (!svg.querySelector("circle")) {
      plots.empty(svg, "", 400, ROWS * PITCH + GAP);
      for (let k = 0; k < COLUMNS * ROWS; k++) {
        const row = Math.floor(k / COLUMNS), place = { cx: (k % COLUMNS + 0.75) * PITCH, cy: (row + 0.6) * PITCH + (k >= MEMORY.dim ? GAP : 0) };
        plots.element("circle", { ...place, r: 2.3, class: "dot" }, svg);
        plots.element("circle", { ...place, r: 2.3, class: "lit" }, svg);
      }
      plots.element("text", { x: 3, y: MEMORY.dim / COLUMNS * PITCH + 14 }, svg, `↑ ${MEMORY.dim} facts, one for each row of the matrix`);
    }
    const lit = svg.querySelectorAll(".lit");
    for (let i = 0, k = 0; i < q.values.length && k < lit.length; i++) {
      for (let n = 0; n < q.counts[i] && k < lit.length; n++) lit[k++].style.opacity = probability[i].toFixed(3);
    }
    svg.setAttribute("aria-label", `The ${format(lit.length)} most frequent facts as dots, the recalled ones blue: about ${whole(capacity)}`);
    box.dataset.capacity = capacity;
    say(`${nameOf(lam)}: ${whole(capacity)} of ${format(MEMORY.nItems)} facts recalled`);
    return { lambda: nameOf(lam) };
  }

  /* Overlaps of two random directions, and the largest of as many as there are facts. */
  function overlaps(box, raw, say) {
    const dim = 2 ** raw.d, { density, largest } = core.overlaps(dim, MEMORY.nItems), points = [];
    for (let x = -0.998; x < 1; x += 0.004) points.push([x, density(x)]);
    const text = `Density of the overlap of two random directions in ${dim} dimensions, a bell of width ${short(dim ** -0.5)}`;
    const plot = plots.axes(box.querySelector("svg"), [-1.05, 1.05], [0, 0.5, 1], "overlap", "how often, over its peak", text, false, [-1, -0.5, 0, 0.5, 1]);
    plots.line(plot, points, "area");
    plots.line(plot, points, "curve sgd");
    plots.line(plot, [[1, 0], [1, 1]], "curve polar");
    for (const at of [-largest, largest]) plots.line(plot, [[at, 0], [at, 1]], "here");
    plots.element("text", { x: plot.x(1) - 6, y: 24, "text-anchor": "end", class: "name polar" }, plot.svg, "its own: 1");
    say(`${format(dim)} dimensions: an overlap of typically ${short(dim ** -0.5)}; the largest of ${format(MEMORY.nItems)} is ${largest.toFixed(2)}`);
    return { d: `d = ${format(dim)}` };
  }

  /* One question: the right answer's score, and how far the other facts leak into it, beside the spectrum and f. */
  function loud(box, raw, say) {
    const lam = LAMBDAS[raw.lambda], rank = RANKS[raw.rank], state = between(lam);
    const { p, own, size, needed } = core.scores(state, rank), highest = 2.5, wrong = 40, [bars, shape] = box.querySelectorAll("svg");
    const text = `Scores of the answers to a question about fact ${rank}, in units of a score that wins nine times in ten: the right answer `
      + `${short(own / needed)}; the leak of fact 1 ${short(size[0] / needed)}, of fact ${wrong} ${short(size[p.start.findIndex((at) => at >= wrong - 1)] / needed)}`;
    const plot = plots.axes(bars, [0, wrong + 9], [0, 0.5, 1, 1.5, 2, highest], "rank of the fact that leaks in", "score, over what wins 9 in 10", text, false, [1, 10, 20, 30, 40]);
    const bar = (x, width, score, type) => {
      const top = plot.y(Math.min(score, highest)), left = plot.x(x - width / 2);
      plots.element("rect", { x: left, width: plot.x(x + width / 2) - left, y: top, height: plot.y(0) - top, class: "bar " + type }, bars);
    };
    for (let j = 1, at = 0; j <= wrong; j++) {
      while (at + 1 < p.start.length && p.start[at + 1] < j) at++;
      bar(j, 0.7, size[at] / needed, "sgd");
    }
    bar(wrong + 6, 3.5, own / needed, "polar");
    plots.element("text", { x: plot.x(wrong + 6), y: plot.y(0) + 20, "text-anchor": "middle", class: "name polar" }, bars, "right");
    plots.line(plot, [[0, 1], [wrong + 9, 1]], "here");
    plots.spectrum(shape, law(0), t0(0), lam, [state.optimizer], "singular value, from rare to frequent");
    box.dataset.own = own / needed;
    say(`${nameOf(lam)}: the right answer to fact ${rank} has ${times(own / needed)} of what wins 9 times in 10; the most frequent fact leaks ${times(size[0] / needed)}`);
    return { lambda: nameOf(lam), rank: `fact ${rank}` };
  }

  /* The counts of the records and their predictions, for each exponent that has a record. The lines are stored: value,
     picture and sentence change at once. */
  function dimensions(box, raw, say) {
    const records = root.amemExplorerData.records, alpha = [...new Set(records.map((one) => one.alpha))].sort()[raw.alpha];
    const curves = ["polar", "sgd"].map((name) => {
      const mine = records.filter((one) => one.optimizer === name && one.alpha === alpha);
      return { name, mine, curve: root.amemCurves.dimensions[alpha][name] };
    });
    const points = curves.flatMap(({ name, mine }) => mine.map(({ dim, count }) => [dim, count, name]));
    const plot = plots.counts(box.querySelector("svg"), curves, points, { letter: "d", axis: "dimension d", counted: "facts after one step" }, [64, 1e5]);
    plots.key(plot, ["polar", "sgd"], 120);
    const last = curves.map(({ name, curve, mine }) => [plots.NAMES[name], curve[curve.length - 1], mine[mine.length - 1].count]);
    say(`α = ${alpha}: ` + last.map(([name, [dim, count], seen]) => `${name} at d = ${format(dim)}: predicted ${short(count)}, counted ${short(seen)}`).join("; "));
    return { alpha: `α = ${alpha}` };
  }

  /* Counts against the batch, with the records' points. */
  function batches(box, raw, say) {
    const records = root.amemExplorerData.batches, dim = [...new Set(records.map((one) => one.dim))][raw.d];
    const curves = ["polar", "sgd"].map((name) => ({ name, curve: root.amemCurves.batches[dim][name] })), sizes = curves[0].curve.map(([size]) => size);
    const mine = records.filter((one) => one.dim === dim), points = mine.map(({ batchSize, count, optimizer }) => [batchSize, count, optimizer]);
    const labels = { letter: "B", axis: "samples in the batch, B", counted: "facts after one step" };
    const plot = plots.counts(box.querySelector("svg"), curves, points, labels, [sizes[0], sizes[sizes.length - 1]]);
    plots.key(plot, ["polar", "sgd"], 120);
    const counts = curves[0].curve.map(([, count]) => count), most = Math.max(...counts), at = sizes[counts.indexOf(most)];
    const [[last, muon], [, sgd]] = curves.map(({ curve }) => curve[curve.length - 1]);
    say(`d = ${dim}: Muon recalls most, ${short(most)}, from ${format(at)} samples; from ${format(last)} Muon recalls ${short(muon)}, SGD ${short(sgd)}`);
    return { d: `d = ${dim}` };
  }

  /* What the records counted after each of several steps. */
  function stairs(box, raw, say) {
    const { dims, muon, sgd } = root.amemExplorerData.stairs, dim = dims[raw.d], rows = [["polar", muon[raw.d]], ["sgd", sgd[raw.d]]];
    const text = `Facts recalled after each step at d = ${dim}: ` + rows.map(([name, row]) => `${plots.NAMES[name]} ${row.map(short).join(", ")}`).join("; ");
    const plot = plots.axes(box.querySelector("svg"), [0.8, 6.2], [1, 10, 100, 1000, 10000], "steps", "facts recalled", text, true, [1, 2, 3, 4, 5, 6]);
    for (const [name, row] of rows) {
      plots.line(plot, row.map((count, k) => [k + 1, count]), "curve " + name);
      row.forEach((count, k) => plots.element("circle", { cx: plot.x(k + 1), cy: plot.y(count), r: 4, class: "point " + name }, plot.svg));
    }
    plots.key(plot, ["polar", "sgd"], 160);
    say(`d = ${dim}: after one step Muon ${short(muon[raw.d][0])}, SGD ${short(sgd[raw.d][0])}; after five Muon ${short(muon[raw.d][4])}, SGD ${short(sgd[raw.d][4])}`);
    return { d: `d = ${dim}` };
  }

  /* Twelve questions against their twelve answers in one draw: who shouts loudest, and who wins among all answers. */
  const CELL = 17, LEFT = 86, TOP = 74;
  function shouts(box, raw, say) {
    const { ranks, questions, answers, places } = root.amemShouts, { scores, winners, count } = places[raw.lambda];
    const svg = box.querySelector("svg"), right = ranks.filter((rank, i) => winners[i] === rank).length;
    const called = (rank) => answers[rank] || `fact ${format(rank)}`;
    const wrong = ranks.map((rank, i) => winners[i] === rank ? "" : `${questions[i]} gets ${called(winners[i])}`).filter(Boolean);
    plots.empty(svg, `Scores of ${ranks.length} answers to ${ranks.length} questions under ${nameOf(LAMBDAS[raw.lambda])}: ${right} are right. ${wrong.join("; ")}`,
      400, TOP + CELL * ranks.length + 4);
    ranks.forEach((rank, i) => {
      const y = TOP + CELL * i, x = LEFT + CELL * i, won = winners[i] === rank;
      plots.element("text", { x: LEFT - 5, y: y + 12.5, "text-anchor": "end" }, svg, questions[i]);
      plots.element("text", { x: 0, y: 0, transform: `translate(${x + 12} ${TOP - 5}) rotate(-55)` }, svg, answers[rank]);
      scores[i].forEach((score, j) => plots.element("rect", { x: LEFT + CELL * j, y, width: CELL - 1, height: CELL - 1,
        class: score > 0 ? "pulled" : "pushed", "fill-opacity": Math.abs(score) / 100 }, svg));
      plots.element("rect", { x, y, width: CELL - 1, height: CELL - 1, class: "own" }, svg);
      plots.element("text", { x: LEFT + CELL * ranks.length + 6, y: y + 12.5, class: won ? "won" : "" }, svg, won ? "✓" : `→ ${called(winners[i])}`);
    });
    box.dataset.right = right;
    say(`${nameOf(LAMBDAS[raw.lambda])}: ${right} of these ${ranks.length} are right; of all ${format(MEMORY.nItems)} facts, ${format(count)}`);
    return { lambda: nameOf(LAMBDAS[raw.lambda]) };
  }

  const KINDS = { dots, shouts, overlaps, loud, dimensions, batches, stairs, ...root.amemKinds };

  /* Wires one figure. Its controls answer at once; what it says and shows is grey until all of it is new. */
  function wire(box) {
    const inputs = [...box.querySelectorAll("input")], output = box.querySelector("output"), draw = KINDS[box.dataset.figure];
    const say = (text) => { output.textContent = text; };
    const grey = (stale) => {
      for (const part of box.querySelectorAll("svg, output, .value")) part.classList.toggle("stale", stale);
      box.dataset.drawn = String(!stale);
    };
    let job = 0;
    const update = () => {
      const mine = ++job;
      grey(true);
      setTimeout(() => {
        if (mine !== job) return;
        const raw = Object.fromEntries(inputs.map((input) => [input.name, +input.value]));
        for (const [name, text] of Object.entries(draw(box, raw, say))) {
          const input = inputs.find((one) => one.name === name);
          input.setAttribute("aria-valuetext", text);
          input.closest("label").querySelector(".value").textContent = text;
        }
        grey(false);
      }, 15);
    };
    for (const input of inputs) input.addEventListener("input", update);
    update();
  }

  /* Two guesses of one setting of the budget game, SGD first, and the ratio. */
  function guess(box) {
    const form = box.querySelector("form"), output = box.querySelector("output"), label = form.querySelector("span");
    const found = Object.fromEntries(root.amemGameData.settings.filter((one) => one.alpha === 1.5 && one.dim === 128 && one.nItems === 3000)
      .map((one) => [one.optimizer, one.counts]));
    const mean = (x) => x.reduce((total, one) => total + one, 0) / x.length, told = (name) => `${plots.NAMES[name]} recalls ${short(mean(found[name]))} `
      + `on average, ${Math.min(...found[name])} to ${Math.max(...found[name])} in ${found[name].length} draws; you said ${short(+form.guess.value)}.`;
    let turn = "sgd";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (turn === "sgd") {
        output.textContent = `${told("sgd")} Now Muon, from the very same gradients.`;
        label.textContent = "Muon recalls";
        turn = "polar";
        form.guess.value = "";
        form.guess.focus();
        return;
      }
      output.textContent = `${told("polar")} That is ${times(mean(found.polar) / mean(found.sgd))} times as many as SGD.`;
      form.guess.readOnly = form.querySelector("button").disabled = true;
      form.guess.blur();
    });
  }

  /* A figure begins when it is about to be seen. */
  function start() {
    const soon = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        soon.unobserve(target);
        wire(target);
      }
    }, { rootMargin: "600px" });
    // on the one page of a whole book a chapter's still picture stays
    const boxes = [...document.querySelectorAll("[data-figure]:not([data-figure=guess])")].filter((box) => KINDS[box.dataset.figure]);
    for (const box of boxes) {
      const still = box.dataset.still && document.getElementById(box.dataset.still);
      if (!still) continue;
      still.classList.add("lively");
      still.insertBefore(box, still.querySelector("figcaption"));
    }
    for (const box of boxes) soon.observe(box);
    for (const box of document.querySelectorAll("[data-figure=guess]")) guess(box);
    window.addEventListener("beforeprint", () => {
      for (const box of boxes) if (!box.dataset.drawn) { soon.unobserve(box); wire(box); }
    });
  }

  root.amemFigures = { LAMBDAS, RANKS, MEMORY, recalled, nameOf };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})(globalThis);
