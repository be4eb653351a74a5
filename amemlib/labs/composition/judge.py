"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np

from amemlib.experiments.base import Results, standard_error
from amemlib.labs.composition import expected
from amemlib.verdicts import consistency, refuse, verdict

CHANCE_BAND = 0.1
"""How far one layer less may lie from 1/N for the k-hop: it writes another permutation of N = 8 things."""
SQUARE_BAND = 0.1
"""How far a mean square may lie from its law, relative and beyond three standard errors: six of them are held to it."""
NEEDED_BAND, LEADING_BAND = 0.02, 0.03
"""How far a mean number of samples may lie from its law, relative, beyond two standard errors; and from the expansion
for many places, which sums a staircase as an integral."""
SHARE_BAND = 0.03
"""How far a share of places may lie from its law beyond two standard errors: places share their samples."""
LEVEL = 0.9
"""The share of places at which optimizers are compared."""
FEWER = 0.95
"""Below what ratio of answers a Muon step counts as needing fewer."""
FAST, BUDGET, NET_BUDGET = 150, 40, 3
"""Steps within which easy data are to be enough; by how many times the k-hop alone is given more than the mixture took,
in the network of attention and in the ordinary transformer."""
LEVEL_BAND, NET_BAND = 0.03, 0.05
"""How far the accuracy of what is not learnt may lie from 1/N; the ordinary transformer is read on fewer samples."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """measured: `built`; `square` by size; `needed` by size; `share[map]`, (sizes, answers), and the
    answers a place at which it is `LEVEL`, `answers[map]`; of training `easy`, `alone` and `net` what `measure` told,
    draws last but hops. predicted: the laws of the same."""
    built = {key: results.array("built", key).tolist() for key in ("all", "one less")}
    measured = {"built": {**built, "layers": results.array("built", "layers")[:, 0].tolist()}}
    predicted = {}
    sizes = list(results.grids["correlation"].axes["size"].values())
    square = results.array("correlation", "square")
    measured |= {"square": square.mean(1).tolist(), "square_error": standard_error(square).tolist()}
    measured["square_sizes"] = [[size["k"], size["n_things"]] for size in sizes]
    predicted["square"] = [expected.mean_square(**size) for size in sizes]

    sizes = list(results.grids["dense"].axes["size"].values())
    needed = results.array("dense", "needed")
    measured |= {"needed": needed.mean(1).tolist(), "needed_error": standard_error(needed).tolist()}
    measured["needed_sizes"] = [[size["k"], size["n_things"]] for size in sizes]
    predicted["needed"] = [expected.samples_needed(**size) for size in sizes]

    for name in ("sgd", "polar"):
        share = results.array("sparse", name)
        measured.setdefault("share", {})[name] = share.mean(1).tolist()
        measured.setdefault("share_error", {})[name] = standard_error(share).tolist()
        at = [expected.crossing(config.per_place, one, LEVEL) for one in share.mean(1)]
        measured.setdefault("answers", {})[name] = at
    law = results.array("expected sparse", "sgd")
    predicted["share"] = {"sgd": law.tolist()}
    predicted["answers"] = {"sgd": [expected.crossing(config.per_place, one, LEVEL) for one in law]}
    for told, grid in (("easy", "easy"), ("alone", "alone"), ("net", "transformer")):
        measured[told] = {key: results.array(grid, key).tolist() for key in ("learnt", "accuracy", "steps")}
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """built: the network by hand makes no error, with one layer less it knows nothing. correlation: the mean square is
    (N − 1)^(−2k); one answer. dense: samples as the law says, and as its expansion, 2 log(kN)/log N and a constant.
    sparse: shares of places as the law says; one answer. muon_sparse: a polar step needs fewer; no law is known.
    easy: all hops are learnt, 1, 2, 4 in this order. alone: the k-hop alone stays at chance. muon: the same by Muon.
    transformer: the same of an ordinary transformer.
    """
    built = {key: _numbers(measured["built"][key]) for key in ("all", "one less")}
    exact = (built["all"] == 1).all() and (built["one less"] <= 1 / config.built_things + CHANCE_BAND).all()
    verdicts = {"built": consistency(bool(exact))}

    square, error = _numbers(measured["square"]), _errors(measured["square_error"])
    k, N = np.transpose(_numbers(measured["square_sizes"]))
    is_square = lambda law: bool((np.abs(square - law) <= SQUARE_BAND * law + 3 * error).all())  # noqa: E731
    met = is_square(_numbers(predicted["square"]))
    rivals = {"N^−2k": N ** (-2 * k), "(N − 1)^−k": (N - 1) ** -k, "N^−k": N**-k, "1/k": 1 / k}
    verdicts["correlation"] = verdict(met, met, refuse(is_square, rivals))

    needed, error = _numbers(measured["needed"]), _errors(measured["needed_error"])
    k, N = np.transpose(_numbers(measured["needed_sizes"]))
    law = _numbers(predicted["needed"])
    near = bool((np.abs(needed - law) <= NEEDED_BAND * law + 2 * error).all())

    def is_leading(main) -> bool:
        whole = main + expected.leading_constant(k, N)
        return bool((np.abs(needed - whole) <= LEADING_BAND * whole + 2 * error).all())

    rivals = {name: factor * np.log(k * N) / np.log(N) for name, factor in (("one log", 1), ("three logs", 3))}
    rivals |= {
        "log(kN)": np.log(k * N),
        "without a constant": 2 * np.log(k * N) / np.log(N) - expected.leading_constant(k, N),
    }
    verdicts["dense"] = verdict(near, is_leading(2 * np.log(k * N) / np.log(N)), refuse(is_leading, rivals))

    share, error = _numbers(measured["share"]["sgd"]), _errors(measured["share_error"]["sgd"])
    is_share = lambda law: bool((np.abs(share - law) <= SHARE_BAND + 2 * error).all())  # noqa: E731
    met = is_share(_numbers(predicted["share"]["sgd"]))
    seen = 1 - np.exp(-_numbers(config.per_place))
    sizes = np.array([tuple(map(int, size.split())) for size in config.sparse_sizes], dtype=float)[:, :, None]
    spread = (1 - sizes[:, 1] ** -_numbers(config.per_place)) ** ((sizes[:, 0] - 1) * sizes[:, 1])
    rivals = {"every place seen": np.broadcast_to(seen, share.shape), "equally many answers": spread}
    verdicts["sparse"] = verdict(met, met, refuse(is_share, rivals))
    ratio = _numbers(measured["answers"]["polar"]) / _numbers(measured["answers"]["sgd"])
    is_ratio = lambda law: bool((np.abs(ratio - law) <= 1 - FEWER).all())  # noqa: E731
    rivals = {"as many": 1.0, "half as many": 0.5}
    verdicts["muon_sparse"] = verdict(None, bool((ratio <= FEWER).all()), refuse(is_ratio, rivals))

    for name, by in (("easy", 0), ("muon", 1)):
        learnt, steps = _numbers(measured["easy"]["learnt"])[:, by], _numbers(measured["easy"]["steps"])[:, by]
        all_learnt = np.isfinite(learnt).all() and (steps <= FAST).all()
        if name == "easy":
            verdicts[name] = verdict(bool(all_learnt), _is_order(learnt, range(learnt.shape[-1])), _orders(learnt))
        accuracy = _numbers(measured["alone"]["accuracy"])[by, ..., -1]
        enough = _numbers(measured["alone"]["steps"])[by].min() >= BUDGET * np.median(steps[0])
        chance = 1 / _numbers(config.only_things)[:, None]
        is_level = lambda law, found=accuracy: bool((np.abs(found - law) <= LEVEL_BAND).all())  # noqa: E731
        refused = refuse(is_level, {"learnt": 1.0, "half learnt": 0.5})
        key = {"easy": "alone", "muon": "muon"}[name]
        verdicts[key] = verdict(bool(enough and all_learnt), is_level(chance), refused)

    learnt, accuracy = (_numbers(measured["net"][key]) for key in ("learnt", "accuracy"))
    steps = _numbers(measured["net"]["steps"])
    enough = steps[1].min() >= NET_BUDGET * np.median(steps[0]) and np.isfinite(learnt[0]).all()
    is_level = lambda law: bool((np.abs(accuracy[1, :, -1] - law) <= NET_BAND).all())  # noqa: E731
    order = _is_order(learnt[0], range(learnt.shape[-1]))
    refused = [*refuse(is_level, {"learnt": 1.0, "half learnt": 0.5}), *_orders(learnt[0])]
    verdicts["transformer"] = verdict(bool(enough), order and is_level(1 / config.net_things), refused)
    return verdicts


def _is_order(learnt: np.ndarray, order) -> bool:
    """Whether hops, the last axis, were learnt at steps that grow in this order in every run."""
    return bool((np.diff(learnt[..., list(order)]) > 0).all())


def _orders(learnt: np.ndarray) -> list[str]:
    """Other orders of hops that no set of all runs follows, and all hops at once."""
    hops = learnt.shape[-1]
    rivals = {"hard to easy": range(hops - 1, -1, -1), "the longest first": [hops - 1, *range(hops - 1)]}
    at_once = bool((np.ptp(learnt, axis=-1) <= 1).all())
    return refuse(lambda order: _is_order(learnt, order), rivals) + ([] if at_once else ["all at once"])


def _numbers(values) -> np.ndarray:
    """A record's numbers as floats: None, which stands for NaN there, is NaN again."""
    return np.array(values, dtype=float)


def _errors(values) -> np.ndarray:
    """Standard errors, 0 where a single draw has none."""
    return np.nan_to_num(_numbers(values))
