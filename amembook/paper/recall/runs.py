"""One training run of in-context recall as a cell of a sweep, with its probes; `recall` and `recall-rates` share it."""

import functools
import math

import torch

from amembook.networks.attention import Network, accuracy, forward, initial_weights, recall_loss, value_memory
from amembook.networks.tasks import RecallTask, Sequences, sample_sequences, uniform
from amembook.networks.training import OPTIMIZERS, TrainingRun, train
from amembook.run import runtime
from amembook.run.cache import checkpoint_file
from amemlib.recovery import recovered

COMPARED = ("muon", "adamw", "sgd")
DIVERGED = 3.0
"""A run counts as diverged once its mean loss between two probes is not finite or above this many times
log(vocabulary): a network that knows nothing is near 1."""
EVALUATED = 512
"""Sequences in each of the two sets on which a run is measured, the familiar law (ID) and the uniform one (OOD)."""


def measure_run(
    n_items: int,
    length: int,
    pairs: int,
    trigger_alpha: float,
    output_alpha: float,
    dim: int,
    hidden: int,
    batch_size: int,
    steps: int,
    probe_every: int,
    optimizer: str,
    lr: float,
    unembedding_length: float,
    seed: int,
    device: str,
) -> dict:
    """Train one network and give its curves: `step`, `loss`, `id`, `ood`, `recall`, `previous`, `match`, and more.

    unembedding_length: root-mean-square length of the unembeddings at the start, 1 in `initial_weights`.
    The data of a seed are the same for every optimizer and dimension. `learnt` holds for each output the first probed
    step from which W_V recalls it for good (None: never), `sure` the one from which the network gives it half of the
    probability where it is asked for, in the mean of the OOD questions, `ood_by_output` the final OOD accuracy of each
    output, `spectrum` the singular values of the change of W_V. A run that diverges has the step in `diverged` and its
    curves stop before. Goes on from its own checkpoint (`cache.checkpoint_file`) if an interrupted run left one.
    """
    arguments = dict(locals())
    task = RecallTask(n_items, length, pairs, trigger_alpha, output_alpha)
    place = runtime.device(device)
    start, sets = _start(task, dim, hidden, unembedding_length, seed, place)
    run = train(
        start,
        recall_loss,
        functools.partial(OPTIMIZERS[optimizer], lr=lr),
        lambda step: sample_sequences(task, batch_size, seed, step).to(place),
        steps,
        probe_every,
        functools.partial(probe, sets=sets, n_items=n_items),
        checkpoint_file(measure_run, arguments),
        ceiling=DIVERGED * math.log(task.vocabulary),
    )
    return _curves(run, start, sets, n_items)


def _start(
    task: RecallTask, dim: int, hidden: int, unembedding_length: float, seed: int, place
) -> tuple[dict, dict[str, Sequences]]:
    """First weights and the two sets of sequences on which a run is measured."""
    weights = initial_weights(Network(task.vocabulary, task.length, dim, hidden), seed)
    weights["unembedding"] *= unembedding_length
    sets = {
        name: sample_sequences(law, EVALUATED, seed, batch, "evaluation").to(place)
        for batch, (name, law) in enumerate((("id", task), ("ood", uniform(task))))
    }
    return {name: W.to(place) for name, W in weights.items()}, sets


def _curves(run: TrainingRun, start: dict, sets: dict[str, Sequences], n_items: int) -> dict:
    curves = {key: [row[key] for row in run.history] for key in run.history[0] if key not in ("recalled", "sure")}
    change = (run.weights["value2"] - start["value2"]).double()
    spectrum = [] if run.diverged else torch.linalg.svdvals(change).tolist()
    by_output = [] if run.diverged else accuracy_by_output(run.weights, sets["ood"], n_items)
    learnt, sure = (learnt_steps(curves["step"], [row[key] for row in run.history]) for key in ("recalled", "sure"))
    ends = {"learnt": learnt, "sure": sure, "ood_by_output": by_output, "spectrum": spectrum}
    return curves | ends | {"diverged": run.diverged}


def probe(weights: dict, sets: dict[str, Sequences], n_items: int) -> dict:
    """Accuracies, memory recall of W_V, and how much attention the two blocks of an induction head put where it should.

    `previous`: mean attention of block 1 from the place after a trigger to that trigger. `match`: mean attention of
    block 2 from the question to the place after the first trigger. Both on the OOD set. `recalled`, `sure`: one 0/1 an
    output; sure where the mean p̂ of the right answer is at least 1/2 (`accuracy` asks only for the largest).
    """
    weights = {name: W.detach() for name, W in weights.items()}
    mask = recovered(*value_memory(weights, n_items))
    seen = forward(weights, sets["ood"].tokens, sets["ood"].queries)
    sources = sets["ood"].sources
    rows = torch.arange(len(sources), device=sources.device)[:, None]
    return {
        **{name: accuracy(weights, sequences) for name, sequences in sets.items()},
        "recall": mask.double().mean().item(),
        "previous": seen.first_attention[rows, sources, sources - 1].double().mean().item(),
        "match": seen.second_attention.gather(2, sources[..., None]).double().mean().item(),
        "recalled": mask.int().tolist(),
        "sure": sure_outputs(seen.logits, sets["ood"].targets, n_items),
    }


def sure_outputs(logits: torch.Tensor, targets: torch.Tensor, n_items: int) -> list[int]:
    """(n,) 1 where the mean probability of the right answer, among the questions that ask for it, is at least 1/2."""
    right = logits.detach().double().softmax(-1).gather(-1, targets[..., None]).flatten()
    item = targets.flatten() - n_items
    asked, total = torch.bincount(item, minlength=n_items), torch.bincount(item, right, minlength=n_items)
    return ((asked > 0) & (2 * total >= asked)).int().tolist()


def accuracy_by_output(weights: dict, sequences: Sequences, n_items: int) -> list:
    """(n,) accuracy of each output among the questions that ask for it, None where there is none."""
    with torch.no_grad():
        logits = forward(weights, sequences.tokens, sequences.queries).logits
    right = (logits.argmax(-1) == sequences.targets).flatten().double()
    item = sequences.targets.flatten() - n_items
    asked, hits = torch.bincount(item, minlength=n_items), torch.bincount(item, right, minlength=n_items)
    return [hit / count if count else None for hit, count in zip(hits.tolist(), asked.tolist(), strict=True)]


def learnt_steps(steps: list[int], recalled: list[list[int]]) -> list[int | None]:
    """For each output the first probed step from which it is recalled at every later probe, None if there is none."""
    learnt = []
    for masks in zip(*recalled, strict=True):
        since = len(masks) - next((k for k, hit in enumerate(reversed(masks)) if not hit), len(masks))
        learnt.append(steps[since] if since < len(masks) else None)
    return learnt
