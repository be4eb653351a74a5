"""*Who shouts?* Twelve questions and their twelve answers in one draw of the book's memory, from SGD to Muon.

`python tools/shouts.py` draws it anew into assets/shouts-data.js (a minute). A script and not a JSON file, because a
page opened from a disk may not fetch. The places of the slider are those of assets/figures.js.
"""

import json
from functools import cache
from math import inf
from pathlib import Path

import torch

import amemlib as am
from amembook import vocabularies

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = Path("assets") / "shouts-data.js"
N_ITEMS, DIM, ALPHA, SEED = 50_000, 256, 1.5, 0
RANKS = (1, 2, 3, 5, 8, 13, 21, 33, 60, 100, 160, 240)
LAMBDAS = (inf, *(10 ** (3 - k / 4) for k in range(21)), 0.0)


@cache
def memory() -> tuple[am.Embeddings, torch.Tensor]:
    """The draw, and the gradient at zero."""
    problem = am.Problem.power_law(N_ITEMS, DIM, ALPHA)
    emb = am.sample_embeddings(problem, seed=SEED)
    return emb, am.initial_gradient(emb, problem.frequencies)


def step(lam: float) -> torch.Tensor:
    """The step h_λ, λ in units of t₀: SGD's gradient at infinity, Muon's polar factor at 0."""
    _, G = memory()
    if lam == inf:
        return G
    return am.smoothed_sign(G, lam * am.theory.bulk_scale(N_ITEMS, DIM, ALPHA)) if lam else am.polar(G)


def shouts(W: torch.Tensor) -> dict:
    """Scores of the twelve answers to the twelve questions, each question's in hundredths of its loudest; which of all
    answers wins, by its rank; how many of all facts are recalled."""
    emb, _ = memory()
    asked = torch.tensor(RANKS) - 1
    scores = (emb.V[asked].double() @ W.double().T) @ emb.U.double().T
    shown = scores[:, asked]
    shares = (100 * shown / shown.abs().amax(1, keepdim=True)).round().int()
    return {"scores": shares.tolist(), "winners": (scores.argmax(1) + 1).tolist(), "count": am.capacity(W, emb)}


def draw() -> dict:
    """What the figure needs: names of the facts, and the scores at each place of the slider."""
    facts = vocabularies.capitals()
    places = [shouts(step(lam)) for lam in LAMBDAS]
    named = {rank for place in places for rank in place["winners"] if rank <= len(facts.outputs)} | set(RANKS)
    return {
        "ranks": RANKS,
        "questions": [facts.inputs[rank - 1] for rank in RANKS],
        "answers": {rank: facts.outputs[rank - 1] for rank in sorted(named)},
        "places": places,
    }


def stored() -> dict:
    """The stored draw."""
    text = (ROOT / SCRIPT).read_text(encoding="utf-8")
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


if __name__ == "__main__":
    text = json.dumps(draw(), separators=(",", ":"))
    (ROOT / SCRIPT).write_text(f"/* Drawn by tools/shouts.py. */\nglobalThis.amemShouts={text};\n", encoding="utf-8")
