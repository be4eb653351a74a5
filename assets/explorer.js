/* The explorer: the formulas of amemlib.equivalents in a browser, without a kernel and without a network.
   First the numbers (`amemExplorer`, tested against the library), then the page. */
(function (root) {
  "use strict";

  const DATA = root.amemExplorerData;
  const BIN = 0.02, SGD_BIN = 0.05, LOG_STEP = 0.2, CLASSES = 32, HEAD = 8, DRAWS = 128;
  const sum = (x) => { let total = 0; for (let i = 0; i < x.length; i++) total += x[i]; return total; };
  const dot = (x, y) => { let total = 0; for (let i = 0; i < x.length; i++) total += x[i] * y[i]; return total; };

  /* ln Φ(x). ln(−ln Φ) is smooth and tabulated: its relative error stays small however close Φ is to 1. */
  const REACH = 14, FINE = 0.005;
  const table = (() => {
    const half = Math.round(REACH / FINE), tail = new Float64Array(half + 1);
    const density = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
    tail[half] = density(REACH) / REACH * (1 - 1 / REACH ** 2 + 3 / REACH ** 4);
    for (let k = half - 1; k >= 0; k--) {
      const x = k * FINE;
      tail[k] = tail[k + 1] + FINE / 6 * (density(x) + 4 * density(x + FINE / 2) + density(x + FINE));
    }
    const result = new Float64Array(2 * half + 1);
    for (let k = 0; k <= half; k++) {
      result[half + k] = Math.log(-Math.log1p(-tail[k]));
      result[half - k] = Math.log(-Math.log(tail[k]));
    }
    return result;
  })();

  function logNdtr(x) {
    if (x >= REACH) return 0;
    if (x <= -REACH) return -x * x / 2 - Math.log(-x * Math.sqrt(2 * Math.PI));
    const at = (x + REACH) / FINE, k = Math.min(Math.floor(at), table.length - 2), part = at - k;
    return -Math.exp(table[k] + part * (table[k + 1] - table[k]));
  }

  /* Frequencies as bins: values in decreasing order, counts, and the rank at which each bin begins. */
  function bins(values, counts) {
    const start = new Float64Array(values.length);
    for (let i = 1; i < values.length; i++) start[i] = start[i - 1] + counts[i - 1];
    return { values: Float64Array.from(values), counts: Float64Array.from(counts), start };
  }

  function powerLaw(alpha, nItems, width = BIN) {
    const power = (i) => Math.pow(i, -alpha), values = [], counts = [];
    const primitive = (x) => Math.abs(alpha - 1) < 1e-9 ? Math.log(x) : Math.pow(x, 1 - alpha) / (1 - alpha);
    for (let first = 1; first <= nItems;) {
      const next = Math.min(nItems + 1, Math.max(first + 1, Math.ceil(first * Math.exp(width / alpha))));
      const count = next - first;
      let total = 0;
      if (count <= 64) for (let i = first; i < next; i++) total += power(i);
      else total = primitive(next - 0.5) - primitive(first - 0.5);
      values.push(total / count);
      counts.push(count);
      first = next;
    }
    const norm = dot(values, counts);
    return bins(values.map((value) => value / norm), counts);
  }

  function language(code, nItems) {
    const { below, count } = DATA.languages[code], values = [], counts = [];
    let left = nItems;
    for (let k = 0; k < below.length && left > 0; k++) {
      values.push(Math.pow(10, -below[k] / 100));
      counts.push(Math.min(count[k], left));
      left -= count[k];
    }
    const norm = dot(values, counts);
    return bins(values.map((value) => value / norm), counts);
  }

  /* A list that a reader gives: lines of a word and its count, in any order. What `readList` keeps, `given` cuts. */
  let list = null;

  function readList(text) {
    const found = [], lines = text.split(/\r?\n/);
    for (let k = 0; k < lines.length; k++) {
      const parts = lines[k].split(/[\s,;]+/).filter((part) => part !== "");
      if (parts.length === 0) continue;
      // the count stands last, or first as `uniq -c` writes it
      const value = [parts[parts.length - 1], parts[0]].map(Number).find((one) => isFinite(one) && one > 0);
      if (value === undefined) return { size: 0, error: `line ${k + 1} has no count above 0: ${lines[k].slice(0, 40)}` };
      found.push(value);
    }
    if (found.length < 2) return { size: 0, error: "a list needs at least two lines" };
    list = Float64Array.from(found).sort().reverse();
    return { size: list.length, error: "" };
  }

  function given(nItems) {
    const values = [], counts = [];
    for (const value of list.subarray(0, nItems)) {
      if (value === values[values.length - 1]) counts[counts.length - 1]++;
      else { values.push(value); counts.push(1); }
    }
    const norm = dot(values, counts);
    return merged(bins(values.map((value) => value / norm), counts), BIN / 2);
  }

  const listSize = (source) => source === "list" ? (list ? list.length : 0) : sum(DATA.languages[source].count);

  /* A typical batch: how many items are seen k times, rounded so that the sorted list is the expected one. */
  function batch(p, batchSize) {
    if (!isFinite(batchSize)) return p;
    const expected = new Map();
    const add = (k, number) => expected.set(k, (expected.get(k) || 0) + number);
    let unseen = 0;
    for (let i = 0; i < p.values.length; i++) {
      const mean = batchSize * p.values[i], sd = Math.sqrt(mean);
      if (mean > 4000) { add(mean, p.counts[i]); continue; }
      const low = Math.max(0, Math.floor(mean - 8 * sd - 2)), high = Math.ceil(mean + 8 * sd + 12);
      let term = Math.exp(-mean + low * Math.log(mean) - logFactorial(low));
      for (let k = low; k <= high; k++) {
        if (k === 0) unseen += p.counts[i] * term; else add(k, p.counts[i] * term);
        term *= mean / (k + 1);
      }
    }
    const values = [], counts = [];
    let exact = 0, given = 0;
    for (const k of [...expected.keys()].sort((a, b) => b - a)) {
      exact += expected.get(k);
      const number = Math.round(exact) - given;
      if (number > 0) { values.push(k / batchSize); counts.push(number); given += number; }
    }
    const nItems = sum(p.counts);
    if (nItems > given) { values.push(0); counts.push(nItems - given); }
    return merged(bins(values, counts), BIN);
  }

  function logFactorial(n) {
    if (n < 20) { let total = 0; for (let i = 2; i <= n; i++) total += Math.log(i); return total; }
    return n * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3);
  }

  function merged(p, width) {
    const values = [], counts = [];
    let label = NaN;
    for (let i = 0; i < p.values.length; i++) {
      const own = p.values[i] > 0 ? Math.floor(-Math.log(p.values[i] / p.values[0]) / width + 1e-9) : Infinity;
      const last = values.length - 1;
      if (own === label) {
        values[last] = (values[last] * counts[last] + p.values[i] * p.counts[i]) / (counts[last] + p.counts[i]);
        counts[last] += p.counts[i];
      } else { values.push(p.values[i]); counts.push(p.counts[i]); }
      label = own;
    }
    return bins(values, counts);
  }

  /* The fixed point μ M = 1 − (1/d) Σ q² M² / (1 + q² M²). */
  function occupation(M, v, c, dim) {
    let total = 0;
    for (let i = 0; i < v.length; i++) { const x2 = v[i] * v[i] * M * M; total += c[i] * x2 / (1 + x2); }
    return total / dim;
  }

  function solveFixedPoint(mu, v, c, dim) {
    let high = -Math.log(mu), low = high - 50;
    for (let step = 0; step < 44; step++) {
      const middle = (low + high) / 2, M = Math.exp(middle);
      if (mu * M + occupation(M, v, c, dim) > 1) high = middle; else low = middle;
    }
    return Math.exp((low + high) / 2);
  }

  /* 1/M(0): the bulk scale, which is t₀ for a power law; the least frequency if there are no more items than d. */
  function bulkScale(p, dim) {
    const seen = positive(p);
    if (sum(seen.c) <= dim) return seen.v[seen.v.length - 1];
    let low = -Math.log(seen.v[0]) - 20, high = -Math.log(seen.v[seen.v.length - 1]) + 20;
    for (let step = 0; step < 80; step++) {
      const middle = (low + high) / 2;
      if (occupation(Math.exp(middle), seen.v, seen.c, dim) > 1) high = middle; else low = middle;
    }
    return Math.exp(-(low + high) / 2);
  }

  function positive(p) {
    const n = p.values.findIndex((value) => value <= 0), end = n < 0 ? p.values.length : n;
    return { v: p.values.subarray(0, end), c: p.counts.subarray(0, end) };
  }

  function grid(v, c, dim, lam, least) {
    const s = [];
    for (let x = Math.log(1e-3 * least); x < Math.log(1e3 * v[0]); x += LOG_STEP) s.push(Math.exp(x));
    const n = s.length, weights = s.map((value) => value * LOG_STEP);
    for (const end of [0, n - 1]) weights[end] = weights[end] / 2 + s[end];
    const mu = s.map((value) => Math.hypot(value, lam)), M = mu.map((value) => solveFixedPoint(value, v, c, dim));
    return { s, weights, mu, M, slope: mu.map((value, k) => resolventSlope(value, M[k], v, c, dim)) };
  }

  function resolventSlope(mu, M, v, c, dim) {
    let total = 0;
    for (let i = 0; i < v.length; i++) { const x2 = (v[i] * M) ** 2; total += c[i] * 2 * x2 / (1 + x2) ** 2; }
    return -M / (mu + total / dim / M);
  }

  /* Signal, interactions and common scatter of h_λ(G): equivalents.SpectralEquivalent. */
  function spectralEquivalent(p, dim, lam) {
    const { v, c } = positive(p), least = bulkScale(p, dim), { s, weights, mu, M, slope } = grid(v, c, dim, lam, least);
    const K = p.values.length, n = s.length, zeros = () => new Float64Array(K);
    const signal = zeros(), damping = zeros().fill(1), rise = zeros();
    let unresolved, tailRise = 0, filled;
    if (lam > 0) {
      const own = solveFixedPoint(lam, v, c, dim), ownSlope = resolventSlope(lam, own, v, c, dim);
      unresolved = lam * own;
      for (let i = 0; i < K; i++) {
        const q2 = p.values[i] ** 2;
        damping[i] = 1 / (1 + q2 * own * own);
        const first = unresolved * damping[i] * (1 - 2 * q2 * own * ownSlope * damping[i] * lam);
        rise[i] = (first + lam * lam * ownSlope * damping[i]) / 2;
      }
      tailRise = (unresolved + lam * lam * ownSlope) / 2;
      filled = M.map((value, k) => value - lam * (mu[k] * own - lam * value) / (s[k] * s[k]));
    } else {
      unresolved = Math.max(0, 1 - sum(c) / dim);
      if (unresolved > 0) for (let i = 0; i < v.length; i++) damping[i] = 0;
      filled = M.map((value, k) => value - unresolved / mu[k]);
    }
    const C = [], S = [];
    for (let a = 0; a < n; a++) {
      C.push(new Float64Array(n));
      S.push(new Float64Array(n));
      for (let b = 0; b < n; b++) {
        const gap = mu[a] ** 2 - mu[b] ** 2;
        C[a][b] = gap === 0 ? (M[a] + mu[a] * slope[a]) / (2 * mu[a]) : (mu[a] * M[a] - mu[b] * M[b]) / gap;
        S[a][b] = gap === 0 ? (M[a] - mu[a] * slope[a]) / (2 * mu[a]) : (mu[a] * M[b] - mu[b] * M[a]) / gap;
      }
    }
    const quadratic = (row, kernel) => {
      let total = 0;
      for (let a = 0; a < n; a++) {
        if (row[a] === 0) continue;
        let inner = 0;
        for (let b = 0; b < n; b++) inner += kernel[a][b] * row[b];
        total += row[a] * inner;
      }
      return total;
    };
    const resolved = 1 - unresolved, fourth = resolved - tailRise, variance = 2 / dim * fourth / resolved ** 2;
    const spread = { variance, ownNoise: zeros(), signalGain: zeros(), own: zeros(), rivalGain: zeros(), fading: zeros() };
    const even = new Float64Array(n), odd = new Float64Array(n), scale = 4 / Math.PI ** 2;
    for (let i = 0; i < K; i++) {
      const q = p.values[i];
      let shared = 0;
      for (let k = 0; k < n; k++) {
        const x = q * M[k], w = 1 / (1 + x * x);
        signal[i] += 2 / Math.PI * x * M[k] * w * weights[k];
        shared += x * w * w * weights[k] * filled[k];
        even[k] = (1 - x * x) * w * w * weights[k];
        odd[k] = x * w * w * weights[k];
      }
      shared *= 2 / Math.PI * 2 / dim / resolved;
      const energy = 1 - unresolved * damping[i];
      spread.ownNoise[i] = Math.max(scale * quadratic(even, C), 0);
      spread.signalGain[i] = signal[i] > 0 ? shared / (variance * signal[i]) : 0;
      spread.own[i] = Math.max(4 * scale * quadratic(odd, S) - dim * shared ** 2 / variance, 0);
      spread.rivalGain[i] = (energy - rise[i]) * resolved / fourth / Math.max(energy, 1e-12);
      // a frequent input keeps the fluctuation of its own length, 2/d, which is all there is for the polar map
      spread.fading[i] = Math.sqrt(damping[i] ** 4 + (1 - damping[i] ** 4) * 2 / dim / variance);
    }
    const rivals = classes(damping, p.counts);
    const score = signal.map((value) => Math.sqrt(dim) * value);
    const rivalVariance = (i, one) => 1 - unresolved * damping[i] * one;
    return winningProbabilities(score, spread, rivalVariance, rivals, p.counts);
  }

  function classes(share, counts) {
    const label = Array.from(share, (x) => Math.min(Math.floor(x * CLASSES), CLASSES - 1));
    const number = new Float64Array(CLASSES), total = new Float64Array(CLASSES);
    label.forEach((one, i) => { number[one] += counts[i]; total[one] += counts[i] * share[i]; });
    return { label, number, mean: total.map((value, one) => value / number[one]) };
  }

  function winningProbabilities(score, spread, rivalVariance, rivals, counts) {
    const gain = new Float64Array(CLASSES), exponent = 1 - 1 / sum(counts);
    rivals.label.forEach((one, i) => { gain[one] += counts[i] * spread.rivalGain[i] / rivals.number[one]; });
    const [nodes, nodeWeights] = DATA.hermite[3], [g, gauss] = DATA.hermite[24];
    const logVariance = Math.log1p(spread.variance), result = new Float64Array(score.length);
    nodes.forEach((node, at) => {
      const delta = Math.expm1(Math.sqrt(logVariance) * node - logVariance / 2);
      for (let i = 0; i < score.length; i++) {
        const noise = Math.sqrt(spread.ownNoise[i] * (1 + spread.fading[i] * delta) + spread.own[i]);
        const centre = score[i] * (1 + spread.signalGain[i] * delta);
        const wins = new Float64Array(g.length);
        for (let one = 0; one < CLASSES; one++) {
          if (rivals.number[one] === 0) continue;
          const scale = Math.max(1 + spread.fading[i] * gain[one] * delta, 0.05);
          const sd = Math.sqrt(Math.max(rivalVariance(i, rivals.mean[one]) * scale, 1e-12));
          for (let k = 0; k < g.length; k++) wins[k] += rivals.number[one] * logNdtr((centre + noise * g[k]) / sd);
        }
        for (let k = 0; k < g.length; k++) result[i] += nodeWeights[at] * gauss[k] * Math.exp(wins[k] * exponent);
      }
    });
    return result.map((value) => value / (2 * Math.PI));
  }

  /* One Newton step: equivalents.NewtonEquivalent. */
  function newtonEquivalent(p, dim) {
    const { v, c } = positive(p), K = p.values.length, seen = v.length, zeros = () => new Float64Array(K);
    const leverage = zeros(), full = sum(c) <= dim;
    let tau = 0;
    if (full) leverage.fill(1, 0, seen);
    else {
      let low = -Math.log(v[0]) - 40, high = -Math.log(v[seen - 1]) + 40;
      for (let step = 0; step < 90; step++) {
        const middle = (low + high) / 2, t = Math.exp(middle);
        let total = 0;
        for (let i = 0; i < seen; i++) total += c[i] * v[i] * t / (1 + v[i] * t);
        if (total > dim) high = middle; else low = middle;
      }
      tau = Math.exp((low + high) / 2);
      for (let i = 0; i < seen; i++) leverage[i] = v[i] * tau / (1 + v[i] * tau);
    }
    const moment = (k) => { let t = 0; for (let i = 0; i < K; i++) t += p.counts[i] * leverage[i] ** k; return t / dim; };
    const overlap = moment(2), free = 1 - overlap, whitening = Math.max(0, 1 - dim / sum(p.counts));
    const rest = leverage.map((l) => (1 - l) ** 2 > 1e-12 ? (1 - l) ** 2 / free : 0);
    const spread = {
      variance: 0, ownNoise: rest.map((r) => whitening * overlap * r), signalGain: zeros(),
      own: leverage.map((l) => 2 * whitening * l * l), rivalGain: zeros(), fading: zeros(),
    };
    if (!full) {
      const derivative = (k, factor) => {
        let t = 0;
        for (let i = 0; i < seen; i++) t += c[i] / dim * v[i] ** k / (1 + v[i] * tau) ** (k + 1);
        return factor * t;
      };
      const first = derivative(1, 1), second = derivative(2, -2), third = derivative(3, 6);
      const square = tau / first, m2 = (2 * square - second * square ** 2) / first;
      const m3 = (3 * m2 - third * square ** 3 - 3 * second * square * m2) / first;
      const cube = m2 / 2, fourth = m3 / 6, power = [moment(2), moment(3), moment(4)];
      const own = leverage.map((l) => l ** 4 / free ** 2 + l * l / tau ** 4 * (
        fourth * power[0] - 2 * cube * square / tau * (l * power[0] + power[1])
        + square ** 3 / tau ** 2 * (l * l * power[0] + 2 * l * power[1] + power[2])));
      const mean = overlap / free, energy = dot(p.counts, own) / dim + whitening * mean ** 2;
      const variance = 2 / dim * energy / mean ** 2;
      const shared = 2 / dim * (power[0] * cube - power[1] * square ** 2 / tau) / tau ** 3 / mean;
      const left = Math.max(2 / dim / free - shared ** 2 / variance, 0);
      spread.variance = variance;
      for (let i = 0; i < K; i++) {
        const l = leverage[i], rival = l * l / free + whitening * mean;
        spread.signalGain[i] = shared / variance * (1 - l);
        spread.own[i] += dim * (l * (1 - l)) ** 2 * left;
        spread.rivalGain[i] = (own[i] + 2 * whitening * mean * l * l / free + whitening * energy) * mean / energy / rival;
        spread.fading[i] = overlap * rest[i] / (l * l + overlap * rest[i]);
      }
    }
    const rivalVariance = (i, one) => whitening * (leverage[i] ** 2 + overlap * rest[i]) + one * one * rest[i];
    const score = leverage.map((l) => Math.sqrt(dim) * l);
    return winningProbabilities(score, spread, rivalVariance, classes(leverage, p.counts), p.counts);
  }

  /* One SGD step, its leading rivals kept one by one: equivalents.sgd_recovery_probabilities. */
  function sgdEquivalent(p, dim, draws) {
    const { values, counts } = p, K = values.length, head = [];
    const rest = Float64Array.from(counts);
    for (let i = 0; i < K && head.length < HEAD; i++) {
      for (; rest[i] > 0 && head.length < HEAD; rest[i]--) head.push(values[i]);
    }
    let energyRest = 0;
    for (let i = 0; i < K; i++) energyRest += rest[i] * values[i] ** 2;
    const floor = Math.max(Math.sqrt(energyRest / dim) / 10, 1e-6 * values[0] / Math.sqrt(dim));
    const grouped = new Map(), top = Math.max(values[0], floor);
    for (let i = 0; i < K; i++) {
      const label = Math.floor(-Math.log(Math.max(values[i], floor) / top) / 0.2 + 1e-12);
      const group = grouped.get(label) || [0, 0];
      grouped.set(label, [group[0] + rest[i], group[1] + rest[i] * values[i] ** 2]);
    }
    const rivals = [...grouped.values()].filter(([number]) => number > 0).map(([n, e]) => [n, e / n]);
    const result = new Float64Array(K), points = DATA.normals.slice(0, draws || DRAWS);
    const one = (i) => {
      const q = values[i], alone = !head.some((_, j) => j === p.start[i]), pulls = [];
      let mean = 0;
      for (const draw of points) {
        let c = energyRest / dim;
        pulls.length = 0;
        head.forEach((value, j) => { if (j !== p.start[i]) { pulls.push(value * draw[j]); c += (value * draw[j]) ** 2 / dim; } });
        const roots = pulls.map((pull) => Math.sqrt(Math.max(q * q + c - pull * pull / dim, 1e-12 * c)));
        const spreads = rivals.map(([, square]) => Math.sqrt(q * q + c + square));
        for (let z = -5; z < 8.01; z += 0.5) {
          const score = Math.sqrt(dim) * q + Math.sqrt(2.5 * q * q + c) * z;
          let log = alone ? -logNdtr(score / Math.sqrt(2 * q * q + c)) : 0;
          for (let j = 0; j < pulls.length && log > -60; j++) log += logNdtr((score - pulls[j]) / roots[j]);
          for (let j = 0; j < rivals.length && log > -60; j++) log += rivals[j][0] * logNdtr(score / spreads[j]);
          mean += Math.exp(log - z * z / 2) * 0.5 / Math.sqrt(2 * Math.PI) / points.length;
        }
      }
      return mean;
    };
    // rare items change slowly with their frequency: a fifth of a unit of ln q apart, the others between them
    for (let i = 0, last = 0; i < K;) {
      result[i] = one(i);
      for (let j = last + 1; j < i; j++) {
        const part = Math.log(values[last] / values[j]) / Math.log(values[last] / values[i]);
        result[j] = Math.exp(Math.log(result[last] + 1e-300) * (1 - part) + Math.log(result[i] + 1e-300) * part);
      }
      last = i;
      const near = (j) => j < K && p.start[last] >= 64 && values[j] > 0 && Math.log(values[last] / values[j]) < 0.2;
      for (i++; near(i + 1);) i++;
    }
    return result;
  }

  /* The two nodes of a sorted list around x, or nearest to it, and their weights. */
  function between(nodes, x) {
    const after = nodes.findIndex((node) => node > x), last = nodes.length - 1, k = after < 0 ? last - 1 : Math.max(after - 1, 0);
    const share = (x - nodes[k]) / (nodes[k + 1] - nodes[k]);
    return [[k, 1 - share], [k + 1, share]];
  }

  /* Muon's true iterates, η = √d, on a power law's population: the counts after 1 … `steps` steps, between the stored
     solutions of equivalents.power_law_iterates. Interpolated is what would be counted without an end of the list. */
  function trueSteps({ alpha, dim, nItems, steps }) {
    const { alphas, dims, nItems: numbers, logCounts, sharpness } = DATA.steps;
    const places = [between(alphas, alpha), between(dims.map(Math.log), Math.log(dim)), between(numbers.map(Math.log), Math.log(nItems))];
    return Array.from({ length: steps }, (_, t) => {
      let total = 0;
      for (const [a, wa] of places[0]) for (const [d, wd] of places[1]) for (const [n, wn] of places[2]) {
        total += wa * wd * wn * logCounts[a][d][n][t];
      }
      const endless = Math.exp(total);
      return endless * Math.pow(1 + Math.pow(endless / nItems, sharpness), -1 / sharpness);
    });
  }

  /* t₀ of theory.bulk_scale for a power law, in the units of G's singular values; 1/M(0) for a list, which has no α. */
  function lambdaUnit(state, p) {
    if (state.source !== "power") return bulkScale(p, state.dim);
    const x = Math.PI / (2 * state.alpha);
    let norm = 0;
    for (let i = state.nItems; i >= 1; i--) norm += Math.pow(i, -state.alpha);
    return Math.pow(x / Math.sin(x) / state.dim, state.alpha) / norm;
  }

  const OPTIMIZERS = {
    polar: (q, dim) => spectralEquivalent(q, dim, 0),
    smoothed: (q, dim, lam) => spectralEquivalent(q, dim, lam),
    newton: (q, dim) => newtonEquivalent(q, dim),
    sgd: (q, dim, lam, draws) => sgdEquivalent(q, dim, draws),
  };

  function frequencies(state) {
    if (state.source === "list") return given(state.nItems);
    return state.source === "power" ? powerLaw(state.alpha, state.nItems, state.width) : language(state.source, state.nItems);
  }

  /* b = B k / E: what one of E experts sees of a step of B tokens, each of which goes to k of them by chance. */
  function tokensOf({ batchSize, experts = 1, topK = 1 }) {
    return isFinite(batchSize) ? Math.max(1, Math.round(batchSize * topK / experts)) : batchSize;
  }

  /* State → what the page shows of one step. The batch's own bins, their probabilities, and the expected count. */
  function predict(state, width) {
    const p = frequencies(state), t0 = lambdaUnit(state, p);
    let q = batch(p, tokensOf(state));
    if (state.optimizer === "sgd" || width) q = merged(q, width || SGD_BIN);
    const probability = OPTIMIZERS[state.optimizer](q, state.dim, state.lamOverT0 * t0, state.draws);
    return { p, q, t0, probability, capacity: dot(q.counts, probability) };
  }

  /* The tokens that give this share of the population's capacity, half of it; null if even the fewest do. */
  function halfBatch(state, share = 0.5) {
    const rough = { ...state, experts: 1, topK: 1, draws: 16 };
    const count = (logB) => predict({ ...rough, batchSize: Math.round(Math.exp(logB)) }, 0.1).capacity;
    const target = predict({ ...rough, batchSize: Infinity }, 0.1).capacity * share;
    let low = Math.log(2), high = Math.log(1e12);
    if (count(low) >= target) return null;
    for (let step = 0; step < 12; step++) {
      const middle = (low + high) / 2;
      if (count(middle) >= target) high = middle; else low = middle;
    }
    return Math.exp((low + high) / 2);
  }

  /* One step's expected counts at each of `dims`, on bins of a tenth, one after the other. */
  function* dimensionCounts(state, dims) {
    for (const dim of dims) yield [dim, predict({ ...state, dim }, 0.1).capacity];
  }

  /* One step's expected counts from `sizes` tokens, in increasing order, typical batches all of them. From where two in
     a row are within 0.5 % of what the population gives, that is what the rest give. */
  function* batchCounts(state, sizes) {
    const alone = { ...state, experts: 1, topK: 1 }, whole = predict({ ...alone, batchSize: Infinity }, 0.1).capacity;
    let near = 0;
    for (const batchSize of sizes) {
      const count = near === 2 ? whole : predict({ ...alone, batchSize }, 0.1).capacity;
      near = Math.abs(count / whole - 1) < 0.005 ? Math.min(near + 1, 2) : 0;
      yield [batchSize, count];
    }
  }

  const againstDimension = (state, dims) => [...dimensionCounts(state, dims)];
  const againstBatch = (state, sizes) => [...batchCounts(state, sizes)];

  /* Density of ln s: Re M(s(ε − i)) by Newton's method, followed down from large s: equivalents.SpectralLaw. */
  function spectrum(q, dim, smoothing) {
    const p = merged(q, 0.05), { v, c } = positive(p), least = bulkScale(p, dim), points = [];
    let s = 3 * v[0], re = smoothing / (s * (1 + smoothing ** 2)), im = 1 / (s * (1 + smoothing ** 2));
    for (; s > 3e-3 * least; s *= Math.exp(-0.015)) {
      const muRe = s * smoothing, muIm = -s;
      for (let step = 0; step < 60; step++) {
        let yRe = 0, yIm = 0, dRe = 0, dIm = 0;
        for (let k = 0; k < v.length; k++) {
          const q2 = v[k] * v[k], xRe = q2 * (re * re - im * im), xIm = q2 * 2 * re * im;
          const norm = (1 + xRe) ** 2 + xIm ** 2, bRe = (1 + xRe) / norm, bIm = -xIm / norm;
          yRe += c[k] * (1 - bRe);
          yIm -= c[k] * bIm;
          const b2Re = bRe * bRe - bIm * bIm, b2Im = 2 * bRe * bIm;
          dRe += c[k] * q2 * (re * b2Re - im * b2Im);
          dIm += c[k] * q2 * (re * b2Im + im * b2Re);
        }
        const eRe = muRe * re - muIm * im + yRe / dim - 1, eIm = muRe * im + muIm * re + yIm / dim;
        const nRe = muRe + 2 * dRe / dim, nIm = muIm + 2 * dIm / dim, norm = nRe * nRe + nIm * nIm;
        let newRe = re - (eRe * nRe + eIm * nIm) / norm, newIm = im - (eIm * nRe - eRe * nIm) / norm;
        if (newRe <= 0) { [newRe, newIm] = averagedStep(re, im, muRe, muIm, v, c, dim); }
        const moved = Math.hypot(newRe - re, newIm - im), size = Math.hypot(re, im);
        re = newRe;
        im = newIm;
        if (moved < 1e-8 * size) break;
      }
      points.push([s, 2 / Math.PI * re * s]);
    }
    return points.reverse();
  }

  function averagedStep(re, im, muRe, muIm, v, c, dim) {
    let sRe = muRe, sIm = muIm;
    for (let k = 0; k < v.length; k++) {
      const q2 = v[k] * v[k], xRe = 1 + q2 * (re * re - im * im), xIm = q2 * 2 * re * im, norm = xRe ** 2 + xIm ** 2;
      sRe += c[k] / dim * q2 * (re * xRe + im * xIm) / norm;
      sIm += c[k] / dim * q2 * (im * xRe - re * xIm) / norm;
    }
    const norm = sRe ** 2 + sIm ** 2;
    return [(re + sRe / norm) / 2, (im - sIm / norm) / 2];
  }

  /* κ_t of Theorems 9 and 10: recovered items ~ d^κ after t steps of the thresholded iterates. */
  function exponent(optimizer, alpha, steps) {
    if (optimizer === "newton") return steps === 1 ? 1 + 1 / (2 * alpha) : NaN;
    if (optimizer !== "sgd") return 2 - Math.pow(1 - 1 / (2 * alpha), steps);
    let kappa = 0;
    for (let t = 0; t < steps; t++) kappa = kappa <= 1 ? kappa + 1 / (2 * alpha) : (1 - 1 / (2 * alpha)) * kappa + 1 / alpha;
    return kappa;
  }

  root.amemExplorer = {
    logNdtr, powerLaw, language, readList, listSize, tokensOf, batch, bulkScale, lambdaUnit, predict, dimensionCounts, againstDimension, batchCounts, againstBatch, trueSteps, halfBatch, spectrum, exponent,
  };
})(globalThis);

/* The page. */
(function (root) {
  "use strict";
  if (typeof document === "undefined") return;
  const core = root.amemExplorer, SVG = "http://www.w3.org/2000/svg";
  const DEFAULTS = { source: "power", alpha: 1.5, d: 8, n: 4.7, b: 41, experts: 0, k: 0, lambda: 0, steps: 1, optimizer: "polar", other: "sgd" };
  const INFINITE_BATCH = 41;
  const BATCHES = Array.from({ length: 13 }, (_, k) => 4 ** (k + 1));
  const NAMES = { polar: "Muon (polar)", smoothed: "Muon (h_λ)", sgd: "SGD", newton: "Newton" };
  let box, inputs, timer, job = 0;

  const format = (x) => x >= 9999.5 ? Math.round(x).toLocaleString("en").replaceAll(",", " ") : String(+x.toPrecision(4));
  const short = (x) => x >= 100 ? format(Math.round(x)) : String(+x.toPrecision(3));

  /* What the controls stand for. */
  function stateOf(raw) {
    const listed = raw.source === "power" ? Infinity : core.listSize(raw.source), experts = 2 ** raw.experts;
    return {
      source: raw.source, optimizer: raw.optimizer, other: raw.other, alpha: raw.alpha, steps: raw.steps,
      dim: Math.round(2 ** raw.d), nItems: Math.min(+(10 ** raw.n).toPrecision(2), listed),
      batchSize: raw.b >= INFINITE_BATCH ? Infinity : Math.round(2 ** raw.b), lamOverT0: 10 ** raw.lambda,
      experts, topK: Math.min(2 ** raw.k, experts),
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

  function toHash(raw) {
    const changed = Object.entries(raw).filter(([name, value]) => value !== DEFAULTS[name]);
    const hash = new URLSearchParams(changed).toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname + location.search);
  }

  function label(name, text) {
    inputs[name].closest("label").querySelector(".value").textContent = text;
    if (inputs[name].type === "range") inputs[name].setAttribute("aria-valuetext", text);
  }

  function changed() {
    const raw = read();
    toHash(raw);
    showLabels(raw, stateOf(raw));
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
    label("steps", String(raw.steps));
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
    if (raw.steps > 1 && optimizer === "polar" && raw.source === "power" && !isFinite(state.batchSize)) {
      result.history = core.trueSteps(state);
      result.capacity = result.history[raw.steps - 1];
    } else if (raw.steps > 1) result.capacity = NaN;
    return result;
  }

  function notes(raw, answers) {
    if (raw.steps === 1) return "";
    const stepped = answers.find(({ history }) => history), without = answers.filter(({ history }) => !history);
    const lines = [];
    if (stepped) lines.push(`${NAMES.polar}, step by step: ${stepped.history.map(short).join(", ")} items.`);
    if (without.length) {
      lines.push("For more than one step only the polar map has a count here, on a power law's whole population: none is shown for "
        + without.map(({ optimizer }) => NAMES[optimizer]).join(" and ") + ".");
    }
    return lines.concat("All curves are those of one step.").join(" ");
  }

  const known = (x, text) => x === x ? text(x) : "none known";

  function compute(raw, state) {
    const mine = ++job, names = [raw.optimizer];
    if (raw.other !== "none" && raw.other !== raw.optimizer) names.push(raw.other);
    box.setAttribute("aria-busy", "true");
    box.dataset.drawn = "false";
    const answers = names.map((name) => answer(raw, state, name)), [first, second] = answers;
    show("name", `Recovered items, ${NAMES[first.optimizer]}`);
    show("capacity", known(first.capacity, short));
    show("other-name", second ? `Recovered items, ${NAMES[second.optimizer]}` : "");
    show("other", second ? known(second.capacity, short) : "");
    box.querySelector("[data-second]").hidden = !second;
    show("exponent", answers.map(({ exponent }) => known(exponent, (x) => x.toFixed(3))).join(" and "));
    show("note", notes(raw, answers));
    const tokens = core.tokensOf(state);
    show("tokens", isFinite(tokens) ? format(tokens) : "∞");
    show("kept", "…");
    show("half", "…");
    show("summary", answers.map((one) => one.capacity === one.capacity
      ? `${NAMES[one.optimizer]} recovers about ${short(one.capacity)} of ${format(state.nItems)} items.`
      : `No count is known here for ${NAMES[one.optimizer]} after ${raw.steps} steps.`).join(" "));
    drawRanks(answers, state.nItems);
    drawSpectrum(core.spectrum(first.one.q, state.dim, 0.01), first.one.t0, state, names);
    box.dataset.capacity = first.capacity;
    box.dataset.other = second ? second.capacity : "";
    later(mine, () => {
      const shares = answers.map(({ optimizer, one, full }) => one.capacity
        / (full === full ? full : core.predict({ ...state, optimizer, steps: 1, batchSize: Infinity }).capacity));
      show("kept", shares.map((share) => `${Math.round(100 * share)} %`).join(" and "));
      box.dataset.kept = shares[0];
      const batches = [0.5, 0.9].map((share) => core.halfBatch(state, share));
      const said = (one) => one === null ? "below 2" : one > 9e11 ? "beyond 10¹²" : short(one * state.experts / state.topK);
      show("half", batches.map(said).join(" and "));
      box.setAttribute("aria-busy", "false");
      drawDimensions(mine, state, names, () => drawBatches(mine, state, names, () => { box.dataset.drawn = "true"; }));
    });
  }

  /* Work that waits until the page has answered, and is not done if the controls have moved by then. */
  function later(mine, work) { setTimeout(() => { if (mine === job) work(); }, 10); }

  /* All curves point by point, so that the controls never wait for more than one; then `done` with them. */
  function gathered(mine, curves, done) {
    const open = curves.find((one) => !one.full);
    if (!open) { done(curves); return; }
    later(mine, () => {
      const { value, done: full } = open.points.next();
      if (full) open.full = true; else open.curve.push(value);
      gathered(mine, curves, done);
    });
  }

  function show(name, text) { box.querySelector(`[data-show="${name}"]`).textContent = text; }

  function element(name, attributes, parent, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  function powerOfTen(place, svg, power) {
    const text = element("text", place, svg, "10");
    element("tspan", { dy: -6, "font-size": 10 }, text, String(power).replace("-", "−"));
  }

  /* Axes of a picture, x logarithmic in powers of ten. Returns the maps from data to the picture. */
  function axes(name, xRange, yTicks, xLabel, yLabel, description, logarithmic) {
    const svg = box.querySelector(`svg[data-plot="${name}"]`), left = 62, right = 10, top = 10, bottom = 52;
    const width = 400, height = 260;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    element("title", {}, svg, description);
    const [low, high] = xRange.map(Math.log10), yMax = yTicks[yTicks.length - 1];
    const x = (value) => left + (Math.log10(value) - low) / (high - low) * (width - left - right);
    const up = logarithmic ? (value) => Math.log(value / yTicks[0]) / Math.log(yMax / yTicks[0]) : (value) => value / yMax;
    const y = (value) => height - bottom - up(value) * (height - top - bottom);
    const every = Math.ceil((high - low) / 6);
    for (let power = Math.ceil(low); power <= high; power++) {
      if ((power - Math.ceil(low)) % every) continue;
      element("line", { x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom, class: "rule" }, svg);
      powerOfTen({ x: x(10 ** power), y: height - bottom + 20, "text-anchor": "middle" }, svg, power);
    }
    for (const value of yTicks) {
      element("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "rule" }, svg);
      const place = { x: left - 6, y: y(value) + 4, "text-anchor": "end" };
      if (logarithmic) powerOfTen(place, svg, Math.round(Math.log10(value)));
      else element("text", place, svg, String(+value.toPrecision(2)));
    }
    element("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, svg, xLabel);
    const middle = (top + height - bottom) / 2;
    element("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, svg, yLabel);
    return { svg, x, y };
  }

  function line(plot, points, type) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${plot.x(x).toFixed(1)} ${plot.y(y).toFixed(1)}`).join("");
    element("path", { d: path, class: type }, plot.svg);
  }

  /* The names of the curves, in their colours, at the upper right of a picture. */
  function key(plot, names, x) {
    names.forEach((name, k) => element("text", { x, y: 22 + 16 * k, "text-anchor": "end", class: "name " + name }, plot.svg, NAMES[name]));
  }

  function drawRanks(answers, nItems) {
    const text = "Probability of recovery against rank. " + answers.map(({ optimizer, curve }) => {
      const half = curve.find(([, value]) => value < 0.5);
      return `${NAMES[optimizer]}: ${half ? `below one half from rank ${short(half[0])} on` : "above one half everywhere"}.`;
    }).join(" ");
    const plot = axes("ranks", [1, Math.max(nItems, 10)], [0, 0.25, 0.5, 0.75, 1], "rank of the item", "probability of recovery", text);
    for (const { optimizer, curve } of [...answers].reverse()) line(plot, curve, "curve " + optimizer);
    key(plot, answers.map(({ optimizer }) => optimizer), 388);
  }

  function drawSpectrum(points, t0, state, names) {
    const law = points.map(([s, density]) => [s / t0, density]);
    const body = law.filter(([s]) => s < 100), peak = Math.max(...body.map(([, density]) => density));
    const seen = law.filter(([, density]) => density > 1e-3 * peak);
    const range = [Math.max(seen[0][0], 1e-3), seen[seen.length - 1][0] * 1.2];
    const maps = { polar: () => 1, smoothed: (s) => s / Math.hypot(s, state.lamOverT0), sgd: (s) => s / range[1] };
    const shown = names.filter((name) => name in maps);
    const text = "Density of the logarithm of the gradient's singular values in units of t₀, largest value of the bulk 1"
      + (shown.length ? ", with the map f that each optimizer applies to them." : ".");
    const plot = axes("spectrum", range, [0, 0.25, 0.5, 0.75, 1], "singular value / t₀", shown.length ? "density, and f(s)" : "density", text);
    const inside = law.filter(([s]) => s >= range[0]).map(([s, density]) => [s, Math.min(Math.max(density / peak, 0), 1)]);
    line(plot, [[inside[0][0], 0], ...inside, [inside[inside.length - 1][0], 0]], "area");
    for (const name of [...shown].reverse()) line(plot, inside.map(([s]) => [s, maps[name](s)]), "curve " + name);
  }

  /* What was counted under this name for the same exponent and (to 3 %) the same number of items. */
  function counted(records, name, state) {
    const near = (x, y) => Math.abs(Math.log(x / y)) < 0.03;
    return state.source !== "power" ? [] : records.filter((point) => point.optimizer === name && near(point.alpha, state.alpha)
      && near(point.nItems, state.nItems) && (name !== "smoothed" || near(point.lam, state.lamOverT0)));
  }

  /* Curves of counts and stored points on two logarithmic axes, with a line at what the controls say. */
  function drawCounts(plotName, curves, points, labels, range, here) {
    const values = [...curves.flatMap(({ curve }) => curve), ...points].map(([, count]) => count);
    const low = Math.floor(Math.log10(Math.max(Math.min(...values), 1))), high = Math.ceil(Math.log10(Math.max(...values, 10)));
    const ticks = Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k));
    const ends = curves.map(({ name, curve }) => `${NAMES[name]}: ${short(curve[0][1])} at ${labels.letter} = ${format(curve[0][0])} `
      + `and ${short(curve[curve.length - 1][1])} at ${labels.letter} = ${format(curve[curve.length - 1][0])}`);
    const text = `Items after one step against ${labels.letter}, ${ends.join("; ")}. ${points.length} counted points.`;
    const plot = axes(plotName, range, ticks, labels.axis, "items after one step", text, true);
    const shown = (count) => Math.max(count, ticks[0]);
    for (const { name, curve } of curves) line(plot, curve.map(([at, count]) => [at, shown(count)]), "curve " + name);
    for (const [at, count, name] of points) {
      element("circle", { cx: plot.x(at).toFixed(1), cy: plot.y(shown(count)).toFixed(1), r: 4, class: "point " + name }, plot.svg);
    }
    if (here >= range[0] && here <= range[1]) element("line", { x1: plot.x(here), x2: plot.x(here), y1: 10, y2: 208, class: "here" }, plot.svg);
  }

  function drawDimensions(mine, state, names, done) {
    const records = isFinite(state.batchSize) ? [] : root.amemExplorerData.records;
    const points = names.flatMap((name) => counted(records, name, state).map(({ dim, count }) => [dim, count, name]));
    const highest = Math.max(4096, ...points.map(([dim]) => dim)), dims = [];
    for (let dim = 32; dim <= highest; dim *= 2) dims.push(dim);
    const curves = names.map((name) => ({ name, curve: [], points: core.dimensionCounts({ ...state, optimizer: name }, dims) }));
    gathered(mine, curves, () => {
      drawCounts("dimensions", curves, points, { letter: "d", axis: "dimension d" }, [32, highest], state.dim);
      box.dataset.points = points.length;
      done();
    });
  }

  function drawBatches(mine, state, names, done) {
    const records = root.amemExplorerData.batches.filter(({ dim }) => dim === state.dim);
    const points = names.flatMap((name) => counted(records, name, state).map(({ batchSize, count }) => [batchSize, count, name]));
    const curves = names.map((name) => ({ name, curve: [], points: core.batchCounts({ ...state, optimizer: name }, BATCHES) }));
    const range = [BATCHES[0], BATCHES[BATCHES.length - 1]];
    gathered(mine, curves, () => {
      drawCounts("batches", curves, points, { letter: "B", axis: "tokens that the memory sees" }, range, core.tokensOf(state));
      box.dataset.batchPoints = points.length;
      done();
    });
  }

  /* The reader's list becomes one of the sources, and stays on this page: no link holds it. */
  function pasted() {
    const text = box.querySelector("textarea").value, { size, error } = core.readList(text);
    show("list", error ? `Not read: ${error}.` : `Read: ${format(size)} items.`);
    if (error) return;
    if (![...inputs.source.options].some(({ value }) => value === "list")) inputs.source.add(new Option("your list", "list"));
    inputs.source.value = "list";
    changed();
  }

  function start() {
    box = document.getElementById("amem-explorer");
    if (!box) return;
    inputs = Object.fromEntries([...box.querySelectorAll("input, select")].map((input) => [input.name, input]));
    for (const [code, { name }] of Object.entries(root.amemExplorerData.languages)) {
      inputs.source.add(new Option(`words of ${name}`, code));
    }
    box.hidden = false;
    write(fromHash());
    for (const input of Object.values(inputs)) input.addEventListener("input", changed);
    window.addEventListener("hashchange", () => { write(fromHash()); changed(); });
    box.querySelector("button[data-do=reset]").addEventListener("click", () => { write(DEFAULTS); changed(); });
    box.querySelector("button[data-do=list]").addEventListener("click", pasted);
    changed();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})(globalThis);
