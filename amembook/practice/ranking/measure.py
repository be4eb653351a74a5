"""What a cell measures: a run of one optimizer at its best rate."""

from functools import partial

from amembook.networks import updates
from amembook.networks.long_runs import best_of_ladder, loss_after
from amembook.run import runtime
from amemlib.problem import Problem
from amemlib.sampling import sample_embeddings

OPTIMIZERS = {
    "muon": updates.muon_shipped,
    "normuon": updates.normuon,
    "muon_squared": updates.muon_squared,
    "soap": updates.soap,
    "one_sided_shampoo": updates.one_sided_shampoo,
    "shampoo": updates.shampoo,
    "adam": updates.adam,
    "muon_without_momentum": updates.muon_without_momentum,
}
"""Updates by name: those of the track, Muon with the average that torch ships."""
_STARTS = {"soap": 0.5, "adam": 0.5, "shampoo": 4.0, "one_sided_shampoo": 4.0, "muon_without_momentum": 2.0}


def measure_run(
    n_items: int,
    dim: int,
    alpha: float,
    n_steps: int,
    horizon: float,
    batch_size: int,
    optimizer: str,
    seed: int,
    device: str,
) -> dict:
    """loss: nats over all items after `n_steps`, at the best rate of a ladder of factors of two; rate: that rate.

    β₁ = 1 − horizon/T for every optimizer that has it; β₂ is `updates.SECOND`.
    """
    problem = Problem.power_law(n_items, dim, alpha)
    emb = sample_embeddings(problem, seed, runtime.device(device))
    update = OPTIMIZERS[optimizer]
    if optimizer != "muon_without_momentum":
        update = partial(update, beta=1 - horizon / n_steps)
    run = lambda rate: loss_after(update, emb, problem, n_steps, batch_size, rate, seed)
    value, rate = best_of_ladder(run, 60 / n_steps * _STARTS.get(optimizer, 1.0))
    return {"loss": value, "rate": rate}
