"""The numbers of the chapters' live pictures: `python tools/pictures.py` draws them anew, a minute a picture.

Scripts and not JSON files, because a page opened from a disk may not fetch. The memory is that of *Who shouts?*.
"""

import json
import sys
from pathlib import Path

import shouts
import torch

import amemlib as am
from amembook import read_records, vocabularies
from amembook.paper import pictures

ASSETS = Path(__file__).resolve().parents[1] / "assets"
ASKED = (1, 10, 40, 100, 150, 240)
"""The ranks of the facts under the faders."""
BATCHES = tuple(2**k for k in range(2, 19))
FIRST = 1664
"""So many facts are dots: rows of 64, beyond the order d^{1 + 1/2α} of what Muon recalls."""
MAPS = "polar", "sgd"
ALPHAS = tuple(round(1.05 + 0.05 * k, 2) for k in range(40))
TREADS = 8


def equalizer() -> dict:
    """Singular values in units of t₀, and the contests of a few facts at each place of the slider."""
    emb, G = shouts.memory()
    facts = vocabularies.capitals()
    s = torch.linalg.svdvals(G) / am.theory.bulk_scale(shouts.N_ITEMS, shouts.DIM, shouts.ALPHA)
    places = [place(lam) for lam in shouts.LAMBDAS]
    named = {rank for one in places for rank in one["winners"] if rank <= len(facts.outputs)} | set(ASKED)
    return {
        "faders": pictures.FADERS,
        "s": [float(f"{value:.4g}") for value in s.tolist()],
        "ranks": ASKED,
        "questions": [facts.inputs[rank - 1] for rank in ASKED],
        "answers": {rank: facts.outputs[rank - 1] for rank in sorted(named)},
        "places": places,
    }


def place(lam: float) -> dict:
    """What the step h_λ recalls, λ in units of t₀."""
    emb, _ = shouts.memory()
    W = shouts.step(lam)
    one = pictures.contest(W, emb, ASKED)
    return one | {"ratios": [round(ratio, 3) for ratio in one["ratios"]], "count": am.capacity(W, emb)}


def tide() -> dict:
    """One draw of a batch at each size: which facts it shows and which Muon recalls of it, and how many; the laws."""
    problem = am.Problem.power_law(shouts.N_ITEMS, shouts.DIM, shouts.ALPHA)
    return {
        "batches": BATCHES,
        "first": FIRST,
        "order": {"shown": 1 / shouts.ALPHA, "muon": am.theory.recovery_exponent("muon", shouts.ALPHA)},
        "all": {name: round(am.expected_capacity(problem, name), 2) for name in MAPS},
        "places": [batch(size) for size in BATCHES],
    }


def batch(size: int) -> dict:
    """One draw of `size` samples. `states`: 0 for a fact that is not seen, 1 for seen, 2 for recalled by Muon, two
    facts a digit. The laws of recalled facts are those of the frequencies that were drawn.
    """
    emb, _ = shouts.memory()
    problem = am.Problem.power_law(shouts.N_ITEMS, shouts.DIM, shouts.ALPHA)
    drawn = pictures.tide(problem, emb, size, shouts.SEED)
    law = {name: round(am.expected_capacity(problem, name, frequencies=drawn["frequencies"]), 2) for name in MAPS}
    law["seen"] = round((-torch.expm1(size * torch.log1p(-problem.frequencies))).sum().item(), 2)
    pairs = drawn["states"][:FIRST].reshape(-1, 2)
    counts = {name: drawn[name] for name in ("seen", *MAPS)}
    return counts | {"states": "".join(str(3 * a + b) for a, b in pairs.tolist()), "law": law}


def staircase() -> dict:
    """The exponents of both theorems at each α."""
    paths = [pictures.staircase(alpha, TREADS) for alpha in ALPHAS]
    for one in paths:  # as the scripts call it
        one["smoothed"] = one.pop("smoothed_sign")
    return {
        "alphas": ALPHAS,
        "paths": [{name: [round(x, 4) for x in path] for name, path in one.items()} for one in paths],
    }


def curves() -> dict:
    """The lines of the front page's figures against d and against the batch, through the records' points."""
    dimensions = {}
    for record in read_records("one-step", "confirm-alpha-"):
        config, counts = record["config"], record["predicted"]["counts"]
        lines = {"polar": zip(config["dims"], counts["polar"], strict=True)}
        lines["sgd"] = zip(config["sgd_dims"], counts["sgd"], strict=True)
        dimensions[f"{config['alpha']:g}"] = {
            name: [[dim, round(count, 2)] for dim, count in line] for name, line in lines.items()
        }
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    sizes, batches = record["config"]["batch_sizes"], {}
    for dim, polar in zip(record["config"]["dims"], record["predicted"]["counts"]["polar"], strict=True):
        sgd = [sgd_from_batches(record["config"], dim, size) for size in sizes]
        batches[dim] = {
            name: [[size, round(count, 2)] for size, count in zip(sizes, line, strict=True)]
            for name, line in (("polar", polar), ("sgd", sgd))
        }
    return {"dimensions": dimensions, "batches": batches}


def sgd_from_batches(config: dict, dim: int, size: int) -> float:
    """SGD's expected count from a batch: the mean over the batches of the record, whose counts are the points.

    Other draws would give another line: at small d few facts decide, and one batch's count may be twice another's.
    """
    problem = am.Problem.power_law(config["n_items"], dim, config["alpha"])
    first, n_draws = config["first_seed"], config["seeds"]
    draws = (am.sample_minibatch(problem, size, seed) for seed in range(first, first + n_draws))
    return sum(am.expected_capacity(problem, "sgd", frequencies=q) for q in draws) / n_draws


PICTURES = {"curves": curves, "staircase": staircase, "equalizer": equalizer, "tide": tide}


def stored(name: str) -> dict:
    """The stored numbers of a picture."""
    text = (ASSETS / f"{name}-data.js").read_text(encoding="utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        text = json.dumps(PICTURES[name](), separators=(",", ":"), ensure_ascii=False)
        script = f"/* Drawn by tools/pictures.py. */\nglobalThis.amem{name.title()}={text};\n"
        (ASSETS / f"{name}-data.js").write_text(script, encoding="utf-8")
