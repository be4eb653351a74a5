"""Measured numbers beside predicted ones, and the verdicts."""

import math

import numpy as np

from amembook.companions.chain_of_thought import expected
from amembook.companions.chain_of_thought.prompts import decaying_eigenvalues
from amembook.run.base import MAPS, Results, standard_error
from amembook.run.claims import DIFFERENCE, SIZES, check, equivalence, numbers

WEIGHTS_BAND = 1e-3
"""How far trained weights may be from the construction: relative for V₃₁W₁₃, as a share of the energy for the rest."""
APART, APART_LONGER = 0.05, 1e-3
"""How far the trained network's errors may lie from gradient descent's on the same prompts: relative at the length that
it was trained at; in units of ‖w‖² at another, where they fall below any accuracy of the weights."""
EXACT = 5e-3
"""How far the network's errors by thoughts may lie from gradient descent's on the same prompts, relative."""
COSINE, EQUAL = 0.999, 1e-6
"""From which cosine on a polar step is the identity; how far its errors may then be from gradient descent's, relative.
"""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`answer`: errors by number of examples. `thinking`: by d, weights and errors at the kept thoughts. `step`: by
    thoughts and exponent, cosines and errors of each map. predicted: the same, and `laws`, what rivals would say."""
    answers = results.array("answer", "error")
    measured = {"answer": {"error": answers.mean(1), "spread": standard_error(answers)}}
    draws = {key: results.array("thinking", key) for key in ("rate", "deviation", "others", "apart", "apart_longer")}
    errors, longer = (results.array("thinking", key) for key in ("errors", "errors_longer"))
    measured["thinking"] = {
        "rate": draws["rate"].mean(1),
        "errors": errors.mean(1),
        "spread": standard_error(errors),
        "errors_longer": longer.mean(1),
    }
    for key in ("deviation", "others", "apart", "apart_longer"):
        measured["thinking"][key] = draws[key].max(1)
    measured["thinking"]["rate_off"] = np.abs(draws["rate"] / config.rate - 1).max(1)
    measured["step"] = {"exact": {"errors": results.array("step", "exact", "errors").mean(2)}}
    for name in MAPS:
        cosines, errors = (results.array("step", name, key) for key in ("cosine", "errors"))
        measured["step"][name] = {
            "cosine": cosines.mean(2),
            "least_cosine": cosines.min(2),
            "errors": errors.mean(2),
            "spread": standard_error(errors, 2),
        }
    measured["rank"] = results.array("rank", "cosine").mean(1)

    d, kept, ratio = config.dim, config.kept, config.ratio
    predicted = {"answer": {"error": [expected.floor(n, d) for n in config.contexts]}}
    predicted["thinking"] = {
        "errors": [expected.thinking_errors(ratio * dim, dim, config.rate, kept) for dim in config.dims],
        "limit": expected.thinking_limit(ratio, config.rate, kept),
    }
    rates = [expected.one_step_rate(ratio * dim, dim) for dim in config.dims]
    slowest = 1 - config.rate * (1 - ratio**-0.5) ** 2
    at = np.array(kept)
    predicted["laws"] = {
        "a single step": [[expected.floor(ratio * dim, dim)] * len(kept) for dim in config.dims],
        "as if S were I": [((1 - config.rate) ** (2 * at))] * len(config.dims),
        "the slowest direction alone": [(slowest ** (2 * at))] * len(config.dims),
    }
    predicted["rates"] = {"the best single step's": rates, "one": [1.0] * len(rates)}
    spectra = [decaying_eigenvalues(config.step_dim, a).numpy() for a in config.exponents]
    k = config.step_kept[-2]
    predicted["step"] = {"cosine": [], "error": [], "exact": []}
    for thoughts in config.chains:
        g = [expected.first_gradient(lam, config.step_examples, config.step_rate, thoughts) for lam in spectra]
        predicted["step"]["cosine"].append([expected.cosine_to_identity(one) for one in g])
        predicted["step"]["error"].append(
            [expected.descent_error(one, lam, k) for one, lam in zip(g, spectra, strict=True)]
        )
        exact = [((1 - config.step_rate * lam) ** (2 * k)).mean() for lam in spectra]
        predicted["step"]["exact"].append(exact)
    predicted["rank"] = [math.sqrt(min(few, config.step_dim) / config.step_dim) for few in config.few]
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """floor: without thoughts the error is the floor's. construction: the trained weights are gradient descent's at the
    teacher's rate, and the network does what gradient descent does, on the same prompts and on longer ones.
    thinking: the network's errors by thoughts are those of gradient descent on the same prompts, whose means are
    known: E tr(I − ηS)^{2k}/d.
    muon: a polar step is the construction, whatever the spectrum and the chain; the identity −I up to the rank.
    sgd: an SGD step's cosine and errors are the law's.
    """
    draws, n, d = config.seeds, np.array(config.contexts), config.dim
    rivals = {"d/n": d / n, "rate 1: (d + 1)/n": (d + 1) / n, "d/(n + d)": d / (n + d)}
    beside = {"law": predicted["answer"]["error"], "band": SIZES, "at": n, "rivals": rivals}
    floor = numbers("error at n =", measured["answer"]["error"], measured["answer"]["spread"], draws, **beside)

    trained = measured["thinking"]
    off = trained["rate_off"] * config.rate
    # every draw lies within `rate_off` of the teacher's rate
    beside = {"draws": draws, "limit": config.rate, "band": WEIGHTS_BAND, "low": config.rate - off}
    beside |= {"high": config.rate + off, "at": config.dims, "rivals": predicted["rates"]}
    construction = numbers("rate at d =", trained["rate"], **beside)
    bounds = {"deviation": WEIGHTS_BAND, "others": WEIGHTS_BAND, "apart": APART, "apart_longer": APART_LONGER}
    for key, bound in bounds.items():
        given = {"limit": 0, "band": bound, "scale": DIFFERENCE, "guard": True}
        construction += numbers(f"largest {key.replace('_', ' ')}", trained[key].max(), **given)

    # the errors of gradient descent are known, so the network is held to them on its own prompts
    law = np.array(predicted["thinking"]["errors"])
    rivals = {name: np.abs(np.array(rows) / law - 1).max(1) for name, rows in predicted["laws"].items()}
    beside = {"law": 0, "band": EXACT, "scale": DIFFERENCE, "at": config.dims, "rivals": rivals}
    thinking = numbers("largest distance from gradient descent at d =", trained["apart"], draws=draws, **beside)

    step = measured["step"]
    muon, exact = (step[name]["errors"] for name in ("polar", "exact"))
    over = {"errors": (np.abs(muon - exact) / exact).max() / EQUAL}
    over |= {"cosine": (1 - step["polar"]["least_cosine"].min()) / (1 - COSINE)}
    over |= {"rank": np.abs(measured["rank"] - predicted["rank"]).max() / EQUAL}
    same = check(max(over.values()), 1, draws * len(config.chains) * len(config.exponents), "deviation over rounding's")

    law, at = predicted["step"]["error"], [f"{k}, {a:g}" for k in config.chains for a in config.exponents]
    rivals = {"as Muon": predicted["step"]["exact"]}
    rivals |= {"one thought, however many there are": np.broadcast_to(law[:1], law.shape)}
    rivals |= {"a long chain, however short it is": np.broadcast_to(law[-1:], law.shape)}
    given = {"band": SIZES, "scale": DIFFERENCE, "at": at}
    sgd = numbers(
        "error at thoughts, exponent =",
        step["sgd"]["errors"][..., -2],
        step["sgd"]["spread"][..., -2],
        draws,
        law=law,
        rivals=rivals,
        **given,
    )
    sgd += numbers(
        "cosine at thoughts, exponent =", step["sgd"]["cosine"], law=predicted["step"]["cosine"], guard=True, **given
    )
    verdicts = {"floor": floor, "construction": construction, "thinking": thinking, "sgd": sgd}
    return {name: equivalence(judged) for name, judged in verdicts.items()} | {"muon": same}
