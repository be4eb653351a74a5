"""Pictures of the study: labels needed, networks side by side, memories and heads, one step under a power law."""

import numpy as np
from matplotlib.figure import Figure

from amembook.companions.sparse_retrieval.expected import memory_risk
from amembook.figures.style import GREY, frame, key, kinds, name_lines, new_axes, optimizer, points
from amembook.run.base import arrays


def needed_figure(record: dict, shared: dict, small: dict) -> Figure:
    """Sequences needed, of one step on its law. Left by N, one label a sequence or N, and trained attention's medians;
    right by the length of the codes. One step of `small` and `shared`, attention of `record`. Bars are two standard
    errors."""
    config, own = record["config"], shared["config"]
    figure, axes = new_axes(2, sharey=True)
    names = ("one step, 1 label", "one step, $N$ labels", "trained, 1 label", "trained, $N$ labels")
    looks = [look for look, _ in kinds(names, "{}")]
    joined = lambda part, name: np.concatenate([arrays(one[part][name]) for one in (small, shared)])
    sizes, (needed, error) = joined("measured", "cases"), (joined("measured", f"needed{x}") for x in ("", "_error"))
    law, many = joined("predicted", "shared_needed"), joined("measured", "many")
    along = np.flatnonzero(sizes[:, 1] == own["base_code"])
    points(axes[0], sizes[along, 0], needed[along], looks[0], error=error[along], law=law[along])
    held_to = {"error": joined("measured", "many_error"), "law": joined("predicted", "shared_many")}
    points(axes[0], sizes[along, 0], many, looks[1], **held_to)
    for look, name in zip(looks[2:], ("one", "many"), strict=True):
        points(axes[0], config["lengths"], record["measured"]["attention"][name], look, mfc="white")
    frame(axes[0], "positions $N$", "sequences needed", f"$m = {own['base_code']}$", log="xy", base=2)
    key(axes[0], {"law": "-"}, below=2)
    along = np.flatnonzero(sizes[:, 0] == own["base_positions"])
    along = along[np.argsort(sizes[along, 1])]
    points(axes[1], sizes[along, 1], needed[along], looks[0]._replace(label=None), error=error[along], law=law[along])
    frame(axes[1], "entries of a code $m$", "", f"$N = {own['base_positions']}$", log="xy", base=2)
    return figure


def networks_figure(record: dict) -> Figure:
    """Risks of trained networks. Left: by labels over N d, attention and a feed-forward network. Right: a recurrent
    network that is asked before it reads or after, every draw, by N."""
    config, measured = record["config"], record["measured"]
    figure, axes = new_axes(2)
    ratio = np.array(config["small_samples"]) / (config["small_positions"] * config["dim"])
    names = ("attention", "feed-forward", "asked before", "asked after")
    looks = dict(zip(names, (look for look, _ in kinds(names, "{}")), strict=True))
    for name, kind in (("attention", "attention"), ("feed-forward", "feed_forward")):
        points(axes[0], ratio, np.clip(measured["small"][kind], 1e-4, None), looks[name], fmt=looks[name].marker + "-")
    axes[0].axhline(config["solved"], color=GREY, ls=":", lw=1)
    frame(axes[0], "labels over $N d$", "risk", f"$N = {config['small_positions']}$", log="xy", base=2)
    name_lines(axes[0])
    for shift, (name, kind) in zip((0.94, 1.06), (("asked before", "before"), ("asked after", "after")), strict=True):
        draws = np.clip(measured["recurrent_draws"][kind], 1e-4, None)
        x = shift * np.repeat(np.array(config["read_positions"], dtype=float)[:, None], draws.shape[1], 1)
        axes[1].plot(x.ravel(), draws.ravel(), looks[name].marker, color=looks[name].colour, label=name)
    frame(axes[1], "positions $N$", "", "recurrent", log="xy", base=2)
    axes[1].legend()
    return figure


def floors_figure(record: dict) -> Figure:
    """Left: risk of a linear state on its law, and of softmax, by N; dashed, 1 − m/N, the state's best linear query.
    Right: risk by heads on the floor 1 − H/q."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    state, soft = (look for look, _ in kinds(["linear state", "softmax"], "{}"))
    points(axes[0], config["memory_positions"], measured["memory"]["linear"], state)
    points(axes[0], config["memory_positions"], measured["memory"]["softmax"], soft)
    sizes = np.geomspace(config["memory_positions"][0], config["memory_positions"][-1], 200)
    law = [memory_risk(n_positions, config["memory_dim"]) for n_positions in sizes]
    axes[0].plot(sizes, law, color=state.colour)
    axes[0].plot(sizes, np.maximum(0, 1 - config["memory_dim"] / sizes), "--", color=GREY, lw=1.2)
    frame(axes[0], "positions $N$", "risk", f"$m = {config['memory_dim']}$", log="x", base=2)
    name_lines(axes[0])
    pairs = np.array(measured["pairs"])
    for look, q in kinds(config["head_targets"], "$q = {}$"):
        along = np.flatnonzero(pairs[:, 1] == q)
        risk, law = (np.array(values, dtype=float)[along] for values in (measured["heads"], predicted["heads"]))
        points(axes[1], pairs[along, 0], risk, look, law=law)
    frame(axes[1], "heads $H$")
    axes[1].set_xticks(sorted(set(pairs[:, 0])))
    axes[1].legend()
    return figure


def power_figure(record: dict) -> Figure:
    """Positions that one step finds, asked with p_t ∝ t^−α, the last α: shared codes, and independent ones on the
    core's expected counts; dotted, all positions."""
    config, measured, predicted = record["config"], record["measured"], record["predicted"]
    figure, axes = new_axes(2, sharey=True)
    for axis, codes in zip(axes, ("shared", "independent"), strict=True):
        for name in ("sgd", "polar"):
            law = predicted["independent"][name][-1] if codes == "independent" else None
            points(axis, config["step_positions"], measured[codes][name][-1], optimizer(name), law=law)
        axis.plot(config["step_positions"], config["step_positions"], ":", color=GREY, lw=1.2)
        y = "positions found" if codes == "shared" else ""
        frame(axis, "positions $N$", y, f"{codes} codes", log="xy", base=2)
        axis.set_xticks(config["step_positions"])
    name_lines(axes[1])
    return figure
