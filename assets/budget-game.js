/* The budget game: a guess, the stored draws, the score. First the numbers (`amemGame`, tested against the chapter's
   cell), then the page. */
(function (root) {
  "use strict";

  const mean = (x) => x.reduce((total, one) => total + one, 0) / x.length;

  /* Mean over the draws of |ln(guess / count)|, over its mean for one draw guessed from another. */
  function score(guess, counts) {
    const own = counts.map((count) => Math.abs(Math.log(guess / count))), pairs = [];
    for (let i = 0; i < counts.length; i++) {
      for (let j = 0; j < i; j++) pairs.push(Math.abs(Math.log(counts[i] / counts[j])));
    }
    return mean(own) / mean(pairs);
  }

  /* The stored setting with these choices. */
  function setting(chosen) {
    return root.amemGameData.settings.find((one) => one.alpha === chosen.alpha && one.dim === chosen.dim
      && one.nItems === chosen.nItems && one.optimizer === chosen.optimizer);
  }

  /* The simple laws of a setting, the one with the lowest score first; of equals the simpler, which stands later. */
  function ranked(one) {
    return Object.entries(one.laws).reverse().map(([name, count]) => ({ name, count, score: score(count, one.counts) }))
      .sort((a, b) => a.score - b.score);
  }

  function median(x) {
    const sorted = [...x].sort((a, b) => a - b), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }

  root.amemGame = { score, setting, ranked, mean, median };
})(globalThis);

/* The page. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const core = root.amemGame, SVG = "http://www.w3.org/2000/svg";
  const OPTIMIZERS = { sgd: "SGD", polar: "Muon" };
  const LAWS = {
    sgd: ["SGD's law", "The noise of the most frequent facts drowns the rest, and of d only the power 1/(2α) is left."],
    polar: ["Muon's law", "All singular values are made equal, so that no fact is louder than another: the power is 1 + 1/(2α)."],
    dims: ["as many as d", "A fact for every dimension, as if the vectors had to be orthogonal."],
    all: ["all N", "There are too few facts to fill the memory."],
  };
  let box, form, inputs, measured = new Map(), shown = null;

  const short = (x) => x >= 100 ? String(Math.round(x)) : String(+x.toPrecision(3));
  const find = (name) => box.querySelector(`[data-show="${name}"]`);
  const show = (name, text) => { find(name).textContent = text; };

  function chosen() {
    return { alpha: +inputs.alpha.value, dim: +inputs.dim.value, nItems: +inputs.nItems.value, optimizer: inputs.optimizer.value };
  }

  const keyOf = (one) => new URLSearchParams({ alpha: one.alpha, dim: one.dim, nItems: one.nItems, optimizer: one.optimizer }).toString();

  function fromHash() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      if (inputs[name] && inputs[name].options && [...inputs[name].options].some((one) => one.value === value)) inputs[name].value = value;
    }
    asked();
  }

  /* A new question: the answer of the last one goes, and the guess is free. */
  function asked() {
    const one = chosen(), seen = measured.has(keyOf(one));
    history.replaceState(null, "", "#" + keyOf(one));
    shown = null;
    find("answer").hidden = true;
    inputs.guess.value = "";
    inputs.guess.max = one.nItems;
    inputs.guess.readOnly = false;
    form.querySelector("[type=submit]").disabled = false;
    find("next").hidden = true;
    show("verdict", seen ? "You have seen this setting; a second guess does not count." : "");
  }

  function deal() {
    const left = root.amemGameData.settings.filter((one) => !measured.has(keyOf(one)));
    if (left.length === 0) { show("verdict", "You have measured every setting."); return; }
    const one = left[Math.floor(Math.random() * left.length)];
    // SGD comes first, so that Muon's answer can be compared with it
    const first = left.find((other) => other.optimizer === "sgd" && ["alpha", "dim", "nItems"].every((name) => other[name] === one[name]));
    ask(first || one);
  }

  function ask(one) {
    for (const name of ["alpha", "dim", "nItems", "optimizer"]) inputs[name].value = String(one[name]);
    asked();
    inputs.guess.focus();
  }

  /* How many times as many Muon recalls as SGD, once both are measured. */
  function compared(one) {
    const sgd = core.setting({ ...one, optimizer: "sgd" });
    if (one.optimizer !== "polar" || !measured.has(keyOf(sgd))) return "";
    return `Muon recalls ${short(+(core.mean(one.counts) / core.mean(sgd.counts)).toPrecision(2))} times as many as SGD from the same gradients. `;
  }

  /* The laws to show: that of the other optimizer would give away what is still to be guessed. */
  function told(one) {
    return core.ranked(one).filter(({ name }) => !OPTIMIZERS[name] || name === one.optimizer
      || measured.has(keyOf({ ...one, optimizer: name })));
  }

  function committed(event) {
    event.preventDefault();
    if (shown) return;
    const one = core.setting(chosen()), guess = +inputs.guess.value, laws = told(one), counts = one.counts;
    const mine = core.score(guess, counts), sharp = core.score(one.sharp, counts), first = !measured.has(keyOf(one));
    shown = { one, guess, mine };
    if (first) measured.set(keyOf(one), { mine, sharp, law: core.score(one.laws[one.optimizer], counts) });
    inputs.guess.readOnly = true;
    form.querySelector("[type=submit]").disabled = true;
    const [name, why] = LAWS[laws[0].name];
    find("next").hidden = one.optimizer !== "sgd";
    show("verdict", `${compared(one)}Measured: ${short(core.mean(counts))} on average, ${Math.min(...counts)} to ${Math.max(...counts)} in `
      + `${counts.length} draws. You said ${short(guess)}: score ${mine.toFixed(1)}${first ? "" : ", which does not count"}. `
      + `The theory's prediction ${short(one.sharp)} scores ${sharp.toFixed(1)}. Of the simple laws, “${name}” (${short(laws[0].count)}) `
      + `comes closest: ${laws[0].score.toFixed(1)}. ${why}`);
    const rows = [{ label: "you", count: guess, score: mine, kind: "you" }, { label: "prediction", count: one.sharp, score: sharp, kind: "sharp" },
      ...laws.map((law) => ({ label: LAWS[law.name][0], count: law.count, score: law.score, kind: "law" }))];
    draw(one, rows);
    fill([...rows].sort((a, b) => a.score - b.score));
    total();
    find("answer").hidden = false;
    box.dataset.score = mine;
    // without the focus a phone's keyboard closes, which would cover the verdict
    inputs.guess.blur();
    find("verdict").scrollIntoView({ block: "nearest" });
  }

  function fill(rows) {
    const body = box.querySelector("tbody");
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr"), head = document.createElement("th");
      head.scope = "row";
      head.textContent = row.label;
      line.className = row.kind;
      line.append(head, ...[short(row.count), row.score.toFixed(1)].map((text) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        return cell;
      }));
      return line;
    }));
  }

  function total() {
    const all = [...measured.values()], of = (name) => core.median(all.map((one) => one[name])).toFixed(1);
    show("total", `Median score over ${all.length} of ${root.amemGameData.settings.length} settings: you ${of("mine")}, `
      + `the prediction ${of("sharp")}, the optimizer's own law ${of("law")}. Lower is better; another draw scores 1.`);
  }

  function element(name, attributes, parent, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  }

  /* A row for the draws and one for every number beside them, on one logarithmic axis. */
  function draw(one, rows) {
    const svg = box.querySelector("svg"), left = 104, right = 368, step = 24, top = 8, bottom = top + step * (rows.length + 1);
    const values = [...one.counts, ...rows.map((row) => row.count)];
    const low = Math.min(...values) / 1.1, high = Math.max(...values) * 1.1;
    const x = (value) => left + Math.log(value / low) / Math.log(high / low) * (right - left);
    svg.setAttribute("viewBox", `0 0 380 ${bottom + 40}`);
    svg.replaceChildren();
    element("title", {}, svg, `${one.counts.length} counted draws from ${Math.min(...one.counts)} to ${Math.max(...one.counts)}; `
      + rows.map((row) => `${row.label}: ${short(row.count)}`).join("; "));
    const begin = x(Math.min(...one.counts)), end = x(Math.max(...one.counts));
    element("rect", { x: begin - 4, y: top, width: end - begin + 8, height: bottom - top, class: "range" }, svg);
    for (const tick of ticks(low, high)) {
      element("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "rule" }, svg);
      element("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, svg, String(tick));
    }
    element("text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" }, svg, "recovered items");
    element("text", { x: left - 8, y: top + 16, "text-anchor": "end" }, svg, "draws");
    one.counts.forEach((count, k) => element("circle", { cx: x(count), cy: top + 12 + (k % 3 - 1) * 5, r: 3, class: one.optimizer }, svg));
    rows.forEach((row, k) => {
      const y = top + step * (k + 1) + 12;
      element("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, svg, row.label);
      element("path", { d: `M${x(row.count)} ${y - 7}l6 7l-6 7l-6 -7z`, class: row.kind }, svg);
    });
  }

  function ticks(low, high) {
    const of = (steps) => {
      const found = [];
      for (let power = -1; power < 6; power++) {
        for (const one of steps) {
          const value = +(one * 10 ** power).toPrecision(3);
          if (value > low && value < high) found.push(value);
        }
      }
      return found;
    };
    const whole = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.4, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.5, 6, 7, 8, 9]];
    return whole.map(of).find((found) => found.length >= 3) || of(whole[4]);
  }

  function start() {
    box = document.getElementById("amem-game");
    if (!box) return;
    form = box.querySelector("form");
    inputs = Object.fromEntries([...form.querySelectorAll("input, select")].map((input) => [input.name, input]));
    for (const name of ["alpha", "dim", "nItems", "optimizer"]) {
      for (const value of new Set(root.amemGameData.settings.map((one) => one[name]))) {
        inputs[name].add(new Option(name === "optimizer" ? OPTIMIZERS[value] : String(value), String(value)));
      }
      inputs[name].addEventListener("change", asked);
    }
    inputs.alpha.value = "1.5";
    inputs.dim.value = "128";
    inputs.nItems.value = "3000";
    form.addEventListener("submit", committed);
    box.querySelector("[data-do=deal]").addEventListener("click", deal);
    find("next").addEventListener("click", () => ask({ ...shown.one, optimizer: "polar" }));
    window.addEventListener("hashchange", fromHash);
    fromHash();
    show("total", `${root.amemGameData.settings.length} settings are waiting.`);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})(globalThis);
