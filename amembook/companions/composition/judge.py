"""Measured numbers beside predicted ones, and the verdicts."""

import numpy as np

from amembook.companions.composition import expected
from amembook.run.base import MAPS, Results, first_reached, standard_error
from amembook.run.claims import DIFFERENCE, check, equivalence, numbers, order
from amembook.run.study import above, by_part, claims_by_part, means

CHANCE_BAND, NEEDED_BAND, SHARE_BAND = 0.1, 0.02, 0.01
EXACT = 1e-12  # relative error of what is counted
PARTS = ("networks", "step", "count", "growth", "doubling")
"""The network by hand and training; samples that one step needs; correlations, counted; training by k, or of that
the runs with all hops only."""
LEVEL = 0.9  # the share of places at which optimizers are compared


def summarise(config, results: Results) -> tuple[dict, dict]:
    """Of the parts that were measured. measured: `built`; `square` by size; `needed` by size; `share[map]`, (sizes,
    answers), and the answers a place at which it is `LEVEL`, `answers[map]`; of training `easy`, `alone` and `net` what
    `measure` gives, draws last but hops; by k, `growth` and `by_k`, draws last. predicted: the laws of the same."""
    read = {"networks": _read_networks, "step": _read_step, "count": _read_count}
    read |= {"growth": _read_growth, "doubling": _read_doubling}
    return by_part(config, results, read)


def _read_networks(config, results: Results) -> tuple[dict, dict]:
    built = {key: results.array("built", key) for key in ("all", "one less")}
    measured = {"built": built | {"layers": results.array("built", "layers")[:, 0]}}
    for name, grid in (("easy", "easy"), ("alone", "alone"), ("net", "transformer")):
        measured[name] = {key: results.array(grid, key) for key in ("learnt", "accuracy", "steps")}
    return measured, {}


def _read_count(config, results: Results) -> tuple[dict, dict]:
    sizes = list(results.grids["correlation"].axes["size"].values())
    measured = {"square": results.array("correlation", "square")}
    measured["square_sizes"] = [[size["k"], size["n_things"]] for size in sizes]
    return measured, {"square": [expected.mean_square(**size) for size in sizes]}


def _read_growth(config, results: Results) -> tuple[dict, dict]:
    # the last hop is the k-hop, however many there are
    lone = {"accuracy": results.array("by k alone", "accuracy", -1), "steps": results.array("by k alone", "steps")}
    return _read_doubling(config, results)[0] | {"by_k": lone}, {}


def _read_doubling(config, results: Results) -> tuple[dict, dict]:
    return {"growth": {"steps": results.array("growth", "steps")}}, {}


def _read_step(config, results: Results) -> tuple[dict, dict]:
    sizes = list(results.grids["dense"].axes["size"].values())
    measured = means({"needed": results.array("dense", "needed")})
    measured["needed_sizes"] = [[size["k"], size["n_things"]] for size in sizes]
    shares, law = {name: results.array("sparse", name) for name in MAPS}, results.array("expected sparse", "sgd")
    level = lambda curves: [first_reached(config.per_place, curve, LEVEL) for curve in curves]
    measured["share"] = {name: share.mean(1) for name, share in shares.items()}
    measured["share_error"] = {name: standard_error(share) for name, share in shares.items()}
    measured["answers"] = {name: level(share.mean(1)) for name, share in shares.items()}
    needed = [expected.samples_needed(**size) for size in sizes]
    return measured, {"needed": needed, "share": {"sgd": law}, "answers": {"sgd": level(law)}}


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """Of the parts that were measured. built: the network by hand makes no error, with one layer less it knows nothing.
    easy: all hops are learnt, 1, 2, 4 in this order. alone: the k-hop alone is right less often at its end than with
    the easy hops, though it had more steps. muon: the same by Muon. transformer: the same of an ordinary transformer.
    dense: samples as the law says, and as its expansion, 2 log(kN)/log N and a constant. sparse: shares of places as
    the law says, and not as if keys were independent. muon_sparse: a polar step finds more of them.
    correlation: the mean square, counted, is (N − 1)^(−2k). doubling: with all hops twice the k takes less than twice
    the steps. shortest: alone, the 2-hop is right more often.
    """
    claims = {"networks": _networks, "step": _step, "count": _count, "growth": _growth, "doubling": _doubling}
    return claims_by_part(config, measured, predicted, claims)


def _networks(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws, built = config.seeds, measured["built"]
    over = max(1 - built["all"].min(), built["one less"].max() - (1 / config.built_things + CHANCE_BAND))
    verdicts = {"built": check(over, 0, draws * len(config.built_ks), "errors, or knowledge with a layer less")}

    easy, alone = measured["easy"], measured["alone"]
    verdicts["easy"] = order(_hops(easy["learnt"][:, 0].reshape(-1, easy["learnt"].shape[-1])))
    both = [N for N in config.only_things if N in config.train_things]
    place, own = [list(config.train_things).index(N) for N in both], [list(config.only_things).index(N) for N in both]
    for by, key in enumerate(("alone", "muon")):
        lead = easy["accuracy"][0, by][place, :, -1] - alone["accuracy"][by][own, :, -1]
        more = (alone["steps"][by][own] - easy["steps"][0, by][place]).min(initial=np.inf)
        verdicts[key] = order(_lead(lead, more, both))
    net = measured["net"]
    lead, more = (net["accuracy"][0] - net["accuracy"][1])[None, :, -1], (net["steps"][1] - net["steps"][0]).min()
    verdicts["transformer"] = order(_lead(lead, more, [config.net_things]) + _hops(net["learnt"][0]))
    return verdicts


def _count(config, measured: dict, predicted: dict) -> dict[str, dict]:
    off = np.abs(np.array(measured["square"]) / predicted["square"] - 1).max()
    return {"correlation": check(off, EXACT, name="relative distance of a counted mean square from its law")}


def _doubling(config, measured: dict, predicted: dict) -> dict[str, dict]:
    less = {}
    for data, regime in zip(measured["growth"]["steps"], ("mixture", "curriculum"), strict=True):
        for N, steps in zip(config.growth_things, data, strict=True):
            for k, few, many in zip(config.growth_ks, steps[:-1], steps[1:], strict=False):
                # a run that did not end takes as good as for ever
                many = np.where(np.array(many) < config.steps, many, 100 * config.steps)
                less[f"{regime}, N = {N}, k = {k}"] = 2 * np.array(few) - many
    return {"doubling": above("twice the steps less those of twice the k,", less)}


def _growth(config, measured: dict, predicted: dict) -> dict[str, dict]:
    more = {}
    for N, shares in zip(config.alone_things, measured["by_k"]["accuracy"], strict=True):
        for k, share in zip(config.alone_ks[1:], shares[1:], strict=True):
            more[f"N = {N}, k = {k}"] = np.array(shares[0]) - share
    shortest = above("right 2-hops less right k-hops, alone,", more)
    return _doubling(config, measured, predicted) | {"shortest": shortest}


def _step(config, measured: dict, predicted: dict) -> dict[str, dict]:
    draws, verdicts = config.seeds, {}
    k, N = np.transpose(measured["needed_sizes"])
    main, constant = 2 * np.log(k * N) / np.log(N), expected.leading_constant(k, N)
    rivals = {"one log": main / 2 + constant, "5/4 of the log": 1.25 * main + constant, "without a constant": main}
    at = [f"{k:g}, {N:g}" for k, N in measured["needed_sizes"]]
    held_to = {"law": predicted["needed"], "limit": main + constant, "band": NEEDED_BAND, "at": at, "rivals": rivals}
    judged = numbers("samples at k, N =", measured["needed"], measured["needed_error"], draws, **held_to)
    verdicts["dense"] = equivalence(judged)

    per_place = np.array(config.per_place, dtype=float)
    pairs = [tuple(map(int, size.split())) for size in config.sparse_sizes]
    sizes = np.array(pairs, dtype=float)[:, :, None]
    share, error = measured["share"], measured["share_error"]
    rivals = {
        "every place seen": np.broadcast_to(1 - np.exp(-per_place), share["sgd"].shape),
        "equally many answers": (1 - sizes[:, 1] ** (1 - per_place)) ** (sizes[:, 0] - 1),
        "independent keys": [[expected.share_independent(k, N, per) for per in config.per_place] for k, N in pairs],
    }
    at = [f"{size.replace(' ', ', ')}, {count}" for size in config.sparse_sizes for count in config.per_place]
    held_to = {"law": predicted["share"]["sgd"], "band": SHARE_BAND, "scale": DIFFERENCE, "at": at, "rivals": rivals}
    judged = numbers("share at k, N, answers =", share["sgd"], error["sgd"], draws, **held_to)
    verdicts["sparse"] = equivalence(judged)
    # where SGD has some places and not yet all
    at_half = np.abs(share["sgd"] - 0.5).argmin(1)
    place = np.arange(len(at_half)), at_half
    more, error = (share["polar"] - share["sgd"])[place], np.hypot(*error.values())[place]
    held_to = {"limit": 0, "scale": DIFFERENCE, "at": config.sparse_sizes}
    judged = numbers("Muon's share less SGD's near a half, at k, N =", more, error, draws, **held_to)
    return verdicts | {"muon_sparse": order(judged)}


def _lead(lead: np.ndarray, more: float, things) -> list[dict]:
    """How much more often the longest hop is right with the easy ones, (sizes, draws), and how many steps fewer it took
    at least."""
    held_to, error = {"limit": 0, "scale": DIFFERENCE, "at": things}, standard_error(lead)
    judged = numbers("accuracy with easy hops less alone, N =", lead.mean(1), error, lead.shape[1], **held_to)
    return judged + numbers("least steps alone less with easy hops", more, limit=0, scale=DIFFERENCE)


def _hops(learnt: np.ndarray) -> list[dict]:
    """How many steps later the next hop is learnt, of runs by hops."""
    later = np.diff(learnt, axis=1)
    return numbers("steps between hops", later.mean(0), standard_error(later, 0), len(later), limit=0, scale=DIFFERENCE)
