"""The tables of the best map and of the steps that a gradient needs, held to what the page says of them."""

import math

import numpy as np
import torch

import amemlib as am
from amembook.figures.tables import Table
from amembook.paper import spectral_maps
from amemlib import equivalents

ALPHAS = (1.25, 1.5, 2.0)
FORMATS = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def smooth(lam: float):
    """h_λ."""
    return lambda s: s / torch.hypot(s, s.new_tensor(lam))


def shapes(alpha: float) -> tuple:
    """(n,) singular values in units of t₀, four maps at them, and the density of their logarithms."""
    unit = equivalents.SpectralLaw.power_law(alpha)
    x = unit.singular_values
    x = x[(x > 1e-2) & (x < 1e3)]
    maps = {
        "polar": torch.ones_like,
        "smoothed_best": smooth(equivalents.best_smoothing(unit)),
        "best_monotone": equivalents.best_monotone_map(unit),
        "best": equivalents.best_map(unit),
    }
    curves = {name: f(torch.tensor(x)) for name, f in maps.items()}
    return x, curves, x * np.interp(x, unit.singular_values, unit.density)


def monotone(best: dict) -> Table:
    """R of the best nondecreasing map and of the best h_λ over the polar map's; best: α ↦ that of the best map."""
    rows = []
    for alpha in ALPHAS:
        unit = equivalents.SpectralLaw.power_law(alpha)
        lam = equivalents.best_smoothing(unit)
        maps = equivalents.best_monotone_map(unit), smooth(lam), torch.ones_like
        flat, smoothed, polar = (equivalents.tail_snr(unit, f) for f in maps)
        assert 1 < smoothed / polar < flat / polar < 1.03 < best[alpha]
        rows.append([f"{alpha}", f"{flat / polar - 1:+.1%}", f"{smoothed / polar - 1:+.1%}", f"{lam:.3f}"])
    return Table(["R over polar's, α", "best nondecreasing", "best h_λ", "at λ / t₀"], rows, {(0, 1)})


def floors(records: dict) -> Table:
    """Items and best loss over the polar map's by floor, d = 256."""
    rows = {}
    for record in records.values():
        measured, config = record["measured"], record["config"]
        at = config["loss_dims"].index(256)
        relative = {
            name: [measured[key][name][at] / measured[key]["polar"][at] for key in ("floor_counts", "floor_losses")]
            for name in measured["floor_losses"]
        }
        for floor in config["floors"]:
            rows.setdefault(floor, [f"{floor:g}"]).extend(f"{x:.2f}" for x in relative[f"floor_{floor:g}"])
        assert relative["floor_0"][0] > 1.05 and relative["floor_0"][1] > 3
        assert relative["floor_0.3"][0] > 1.05 and relative["floor_0.3"][1] < 1
    head = [word for alpha in records for word in (f"α = {alpha}, items", "best loss")]
    return Table(["over polar's, floor", *head], list(rows.values()), {(0, 4), (2, 3), (2, 4)})


def reach(records: dict) -> dict:
    """Λ t₀ / ‖G‖_F of every scanned schedule: α ↦ family ↦ a row for each d."""
    rows = {}
    for alpha, record in records.items():
        config = record["config"]
        rows[alpha], n_items = {}, config["n_items"]
        for dim in config["scan_dims"]:
            norm = am.Problem.power_law(n_items, dim, alpha).frequencies.norm().item()
            unit = am.theory.bulk_scale(n_items, dim, alpha) / norm
            scans = spectral_maps.scanned_schedules(n_items, dim, alpha, norm, config["steps"])
            for family, runs in scans.items():
                row = [unit * math.prod(a for a, _, _ in run) for run in runs]
                rows[alpha].setdefault(family, []).append(row)
    return rows


def steps_needed(records: dict) -> Table:
    """The steps that keep 97 % of polar's items, counted and by the rule."""
    rows = []
    for alpha, record in records.items():
        for family, slope in (("muon", 3.4445), ("cubic", 1.5)):
            counted, rule = (record[part]["steps_needed"][family] for part in ("measured", "predicted"))
            counts = ("–" if x is None else f"{x:.1f}" for x in counted)
            rows.append([f"{alpha}", family, *(f"{x} ({n})" for x, n in zip(counts, rule, strict=True))])
            pairs = [(n, x) for n, x in zip(rule, counted, strict=True) if x is not None]
            off = np.subtract(*np.transpose(pairs)) * np.log(slope)
            assert pairs and (off > -1.24).all() and (off < 2.6).all()
    head = (f"d = {dim} (rule)" for dim in next(iter(records.values()))["config"]["scan_dims"])
    return Table(["α", "steps", *head], rows, {(2, 4)})


def quintic_share(case: am.Problem, steps: int) -> float:
    """What so many quintic steps keep of polar's items."""
    norm, run = case.frequencies.norm().item(), spectral_maps.SCHEDULES["muon5"][:1] * steps
    iterated = lambda s: am.spectral.compose_quintics((s / norm).clamp(max=1), run)
    count = equivalents.expected_map_capacity
    return count(case, iterated) / count(case, torch.ones_like)


def steps_by_dim() -> Table:
    """χ, the steps by the rule, the least adapted Polar Express, and what the shipped five keep."""
    rows = []
    for alpha in ALPHAS:
        median = equivalents.SpectralLaw.power_law(alpha).quantile(0.5)
        for dim in (64, 256, 1024, 4096):
            case = am.Problem.power_law(32_768, dim, alpha)
            norm = case.frequencies.norm().item() / am.theory.bulk_scale(32_768, dim, alpha)
            slopes = [a for a, _, _ in am.spectral.polar_express_coefficients(0.3 / norm, 14)]
            chi, adapted = norm / median, 1 + int(np.argmax(np.cumprod(slopes) >= 2 * norm))
            assert abs(adapted - math.log(4 * chi) / 1.45) < 0.6
            quintic, cubic = (am.theory.newton_schulz_steps(32_768, dim, alpha, a) for a in (3.4445, 1.5))
            row = f"{alpha} {median:.2f} {dim} {chi:.0f} {quintic} {cubic} {adapted} {quintic_share(case, 5):.0%}"
            rows.append(row.split())
    head = "α", "median / t₀", "d", "χ", "quintic", "cubic", "Polar Express", "five keep"
    return Table(head, rows, {(6, 4), (6, 7)})


def kept_after_rounding(case: am.Problem, noise: float) -> float:
    """Items of polar(G + E) over polar(G)'s, ‖E‖_F = noise √d: E as very many items that nobody asks about."""
    q, spurious = case.frequencies, 8 * case.n_items
    small = noise * (case.dim / spurious) ** 0.5
    mixed = torch.cat([q, torch.full((spurious,), small, dtype=q.dtype)])
    g, weights = np.polynomial.hermite_e.hermegauss(40)
    counts = []
    for weight in (mixed, q):
        solved = equivalents.SpectralEquivalent.solve(weight, case.dim)
        score = case.dim**0.5 * solved.signal_of(q)[:, None] + g
        log_wins = torch.special.log_ndtr(torch.tensor(score))
        counts.append((torch.exp((case.n_items - 1) * log_wins).numpy() @ weights).sum())
    return counts[0] / counts[1]


def rounding_laws() -> dict:
    """α, in words ↦ noise / t₀ and the predicted share of polar's items."""
    noises, curves = np.geomspace(0.03, 8, 8), {}
    for alpha in (1.5, 2.0):
        case, unit = am.Problem.power_law(8192, 256, alpha), am.theory.bulk_scale(8192, 256, alpha)
        kept = [kept_after_rounding(case, x * unit) for x in noises]
        curves[rf"predicted, $\alpha = {alpha:g}$, $d = 256$"] = noises, kept
    return curves


def rounded_counts(case: am.Problem, dtype: torch.dtype) -> tuple[float, float, float]:
    """The noise of rounding G / ‖G‖_F, and what that and even noise leave of polar's items, one draw."""
    emb = am.sample_embeddings(case, seed=0)
    G, dim = am.initial_gradient(emb, case.frequencies), case.dim
    E = (G / G.norm()).to(dtype).double() * G.norm() - G
    noise = E.norm().item() / dim**0.5
    normal = torch.randn(dim, dim, dtype=G.dtype, generator=torch.Generator().manual_seed(dim))
    memories = (am.polar(G + X) for X in (0, E, normal * noise / dim**0.5))
    whole, rounded, even = (am.capacity(W, emb) for W in memories)
    return noise, rounded / whole, even / whole


def rounding() -> dict:
    """Kind of noise ↦ (noise / t₀, share of polar's items), counted at four sizes and held to the prediction."""
    points = {name: [] for name in ("as much noise, spread evenly", *FORMATS)}
    for alpha, dim in ((1.5, 128), (1.5, 256), (2.0, 128), (2.0, 256)):
        case, unit = am.Problem.power_law(8192, dim, alpha), am.theory.bulk_scale(8192, dim, alpha)
        for name, dtype in FORMATS.items():
            noise, rounded, even = rounded_counts(case, dtype)
            expected = kept_after_rounding(case, noise)
            assert abs(even - expected) < 0.06 and abs(rounded - expected) < 0.12
            points[name].append((noise / unit, rounded))
            points["as much noise, spread evenly"].append((noise / unit, even))
    return points
