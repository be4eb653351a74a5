/* The formulas of amemlib.equivalents in a browser, without a kernel and without a network: `amemEngine`, tested
   against the library. plots.js draws what it gives, explorer.js and figures.js put controls to it. */
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

  function spectralEquivalent(p, dim, lam) {
    const { score, spread, rivalVariance, damping } = spectralScores(p, dim, lam);
    return winningProbabilities(score, spread, rivalVariance, classes(damping, p.counts), p.counts);
  }

  /* Signal, interactions and common scatter of h_λ(G): equivalents.SpectralEquivalent. */
  function spectralScores(p, dim, lam) {
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
    const score = signal.map((value) => Math.sqrt(dim) * value);
    return { score, spread, rivalVariance: (i, one) => 1 - unresolved * damping[i] * one, damping };
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
     solutions of amembook.laws.power_law_iterates. NaN outside the domain of amembook.laws.expected_trajectory. */
  function trueSteps({ alpha, dim, nItems, steps }) {
    const { alphas, dims, nItems: numbers, itemsPerDim, logCounts } = DATA.steps;
    const within = (nodes, x) => x >= nodes[0] - 1e-9 && x <= nodes[nodes.length - 1] + 1e-9;
    const inside = within(alphas, alpha) && within(dims, dim) && within(numbers, nItems) && nItems >= itemsPerDim * dim;
    if (!inside) return Array(steps).fill(NaN);
    const places = [between(alphas, alpha), between(dims.map(Math.log), Math.log(dim)), between(numbers.map(Math.log), Math.log(nItems))];
    return Array.from({ length: steps }, (_, t) => {
      let total = 0;
      for (const [a, wa] of places[0]) for (const [d, wd] of places[1]) for (const [n, wn] of places[2]) {
        total += wa * wd * wn * logCounts[a][d][n][t];
      }
      return Math.exp(total);
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
    own: (q, dim, lam, draws, f) => mapEquivalent(q, dim, f),
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
    const f = state.optimizer === "own" ? drawnMap(state.map, t0) : null;
    const probability = OPTIMIZERS[state.optimizer](q, state.dim, state.lamOverT0 * t0, state.draws, f);
    return { p, q, t0, probability, capacity: dot(q.counts, probability) };
  }

  /* What the answers to the question of this rank score after one step on the population: the right one (`own`), the
     typical size of the others by bin (`size`), and what wins nine times in ten (`needed`), all in one unit. */
  function scores(state, rank) {
    const p = frequencies(state), { values, counts, start } = p, dim = state.dim;
    let at = start.length - 1;
    while (start[at] >= rank) at--;
    let own, size;
    if (state.optimizer === "sgd") {
      let energy = 0;
      for (let i = 0; i < values.length; i++) energy += counts[i] * values[i] ** 2;
      own = Math.sqrt(dim) * values[at];
      size = values.map((value) => Math.sqrt(values[at] ** 2 + energy / dim + value ** 2));
    } else {
      const lam = state.optimizer === "smoothed" ? state.lamOverT0 * lambdaUnit(state, p) : 0;
      const { score, rivalVariance, damping } = spectralScores(p, dim, lam);
      own = score[at];
      size = damping.map((one) => Math.sqrt(rivalVariance(at, one)));
    }
    let low = 0, high = 10 * Math.max(...size);
    for (let step = 0; step < 50; step++) {
      const middle = (low + high) / 2;
      let log = 0;
      for (let i = 0; i < size.length; i++) log += (counts[i] - (i === at)) * logNdtr(middle / size[i]);
      if (log > Math.log(0.9)) high = middle; else low = middle;
    }
    return { p, own, size, needed: high };
  }

  /* Density of the overlap x of two random directions in `dim` dimensions, (1 − x²)^((d − 3)/2) up to its constant, and
     the size that the largest of `number` overlaps typically has. */
  function overlaps(dim, number) {
    const density = (x) => Math.exp((dim - 3) / 2 * Math.log1p(-x * x));
    let low = 0, high = 1;
    const cells = 4000, tail = new Float64Array(cells + 1);
    for (let k = cells - 1; k >= 0; k--) tail[k] = tail[k + 1] + density((k + 0.5) / cells) / cells;
    for (let step = 0; step < 40; step++) {
      const middle = (low + high) / 2, k = Math.floor(middle * cells), part = middle * cells - k;
      const beyond = (tail[k] + part * (tail[Math.min(k + 1, cells)] - tail[k])) / tail[0];
      if (number * Math.log1p(-beyond) > Math.log(0.5)) high = middle; else low = middle;
    }
    return { density, largest: high };
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

  /* A map of singular values as a reader draws it: values at MAP_NODES, log₁₀ of s in units of t₀, straight between
     them, in proportion to s below the first and level beyond the last. */
  const MAP_NODES = Array.from({ length: 25 }, (_, k) => -2 + k / 4);
  function drawnMap(values, t0) {
    const first = MAP_NODES[0], step = MAP_NODES[1] - first, last = values.length - 1;
    return (s) => {
      const at = (Math.log10(s / t0) - first) / step;
      if (at <= 0) return values[0] * Math.pow(10, at * step);
      const k = Math.min(Math.floor(at), last - 1);
      return at >= last ? values[last] : values[k] + (at - k) * (values[k + 1] - values[k]);
    };
  }

  /* Lines of a singular value over t₀ and f of it, as values at MAP_NODES, the largest 1. */
  function readMap(text) {
    const rows = [], lines = text.split(/\r?\n/);
    for (let k = 0; k < lines.length; k++) {
      const parts = lines[k].split(/[\s,;]+/).filter((part) => part !== "").map(Number);
      if (parts.length === 0) continue;
      if (parts.length !== 2 || !(parts[0] > 0) || !(parts[1] >= 0) || !isFinite(parts[0] + parts[1])) {
        return { error: `line ${k + 1} must be a number above 0 and one that is not negative: ${lines[k].slice(0, 40)}` };
      }
      rows.push([Math.log10(parts[0]), parts[1]]);
    }
    rows.sort((a, b) => a[0] - b[0]);
    const most = Math.max(...rows.map((row) => row[1]), 0);
    if (rows.length < 2 || most === 0) return { error: "a map needs two lines, and a value above 0" };
    const values = MAP_NODES.map((x) => {
      const after = rows.findIndex((row) => row[0] >= x);
      if (after === 0) return rows[0][1] * Math.pow(10, x - rows[0][0]);
      if (after < 0) return rows[rows.length - 1][1];
      const [[x0, y0], [x1, y1]] = [rows[after - 1], rows[after]];
      return x1 === x0 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0);
    });
    return { error: "", values: values.map((y) => y / most) };
  }

  /* One step W = f(G) for any map: equivalents.expected_map_capacity. */
  function mapEquivalent(p, dim, f) {
    const points = resolvents(p, dim, 1e-4, 0.01), K = p.values.length, n = points.length;
    const values = points.map(([s]) => f(s)), most = Math.max(...values);
    const weights = points.map(([s], k) => ((k + 1 < n ? points[k + 1][0] - s : 0) + (k > 0 ? s - points[k - 1][0] : s + s)) / 2);
    const reading = (q) => {
      let signal = 0, variance = 0;
      for (let k = 0; k < n; k++) {
        const [, re, im] = points[k], bRe = 1 + q * q * (re * re - im * im), bIm = 2 * q * q * re * im;
        const norm = bRe * bRe + bIm * bIm, value = values[k] / most, squareRe = re * re - im * im, squareIm = 2 * re * im;
        signal += weights[k] * value * q * (squareIm * bRe - squareRe * bIm) / norm;
        variance += weights[k] * value * value * (re * bRe + im * bIm) / norm;
      }
      return [2 / Math.PI * signal, 2 / Math.PI * variance];
    };
    const read = Array.from(p.values, reading), rare = reading(0)[1];
    const excess = read.map(([, variance]) => variance - rare), low = Math.min(...excess), width = Math.max(Math.max(...excess) - low, 1e-9);
    const overlap = rare < 0.999 ? 1 / (1 - rare) : 0, number = new Float64Array(CLASSES), total = new Float64Array(CLASSES);
    excess.forEach((one, i) => {
      const label = Math.round((CLASSES - 1) * (one - low) / width);
      number[label] += p.counts[i];
      total[label] += p.counts[i] * one;
    });
    const [g, gauss] = DATA.hermite[24], exponent = 1 - 1 / sum(p.counts), result = new Float64Array(K);
    for (let i = 0; i < K; i++) {
      const score = Math.sqrt(dim) * read[i][0], noise = Math.sqrt(Math.max(read[i][1], 0)), wins = new Float64Array(g.length);
      for (let one = 0; one < CLASSES; one++) {
        if (number[one] === 0) continue;
        const rival = total[one] / number[one], quiet = (excess[i] < 0 || rival < 0) && rare > 0;
        const mixed = quiet ? (rare + excess[i]) * (rare + rival) / rare : rare + excess[i] + rival - overlap * excess[i] * rival;
        const sd = Math.sqrt(Math.max(mixed, 1e-12));
        for (let k = 0; k < g.length; k++) wins[k] += number[one] * logNdtr((score + noise * g[k]) / sd);
      }
      for (let k = 0; k < g.length; k++) result[i] += gauss[k] * Math.exp(wins[k] * exponent) / Math.sqrt(2 * Math.PI);
    }
    return result;
  }

  /* Density of ln s. */
  function spectrum(q, dim, smoothing) {
    return resolvents(q, dim, smoothing, 0.015).map(([s, re]) => [s, 2 / Math.PI * re * s]);
  }

  /* [s, Re M, Im M] at M(s(ε − i)) by Newton's method, followed down from large s: equivalents.SpectralLaw. */
  function resolvents(q, dim, smoothing, step) {
    const p = merged(q, 0.05), { v, c } = positive(p), least = bulkScale(p, dim), points = [];
    let s = 3 * v[0], re = smoothing / (s * (1 + smoothing ** 2)), im = 1 / (s * (1 + smoothing ** 2));
    for (; s > 3e-3 * least; s *= Math.exp(-step)) {
      const muRe = s * smoothing, muIm = -s;
      for (let round = 0; round < 60; round++) {
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
      points.push([s, re, im]);
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
    if (optimizer === "own") return NaN;
    if (optimizer === "newton") return steps === 1 ? 1 + 1 / (2 * alpha) : NaN;
    if (optimizer !== "sgd") return 2 - Math.pow(1 - 1 / (2 * alpha), steps);
    let kappa = 0;
    for (let t = 0; t < steps; t++) kappa = kappa <= 1 ? kappa + 1 / (2 * alpha) : (1 - 1 / (2 * alpha)) * kappa + 1 / alpha;
    return kappa;
  }

  root.amemEngine = {
    logNdtr, powerLaw, language, readList, listSize, tokensOf, batch, bulkScale, lambdaUnit, predict, scores, overlaps, dimensionCounts, againstDimension, batchCounts, againstBatch, trueSteps, halfBatch, spectrum, exponent, MAP_NODES, drawnMap, readMap,
  };
})(globalThis);
