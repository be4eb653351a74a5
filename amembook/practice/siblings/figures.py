"""The picture of the study: every seed's loss by update, a panel a task."""

from matplotlib.figure import Figure

from amembook.figures.style import GREY, frame, kinds, new_axes, optimizer

NAMES = {"muon": "Muon", "own": "own moment", "siblings": "siblings'"}


def siblings_figure(records: list[dict], titles: dict[str, str]) -> Figure:
    """Test loss by update, a line a seed. titles: task ↦ title of its panel, in their order."""
    draws = {task: told for record in records for task, told in record["measured"]["draws"].items()}
    figure, axes = new_axes(len(titles))
    for axis, (task, title) in zip(axes, titles.items(), strict=True):
        names = [name for name in NAMES if name in draws[task]]
        places = range(len(names))
        for seed in zip(*(draws[task][name] for name in names), strict=True):
            axis.plot(places, seed, color=GREY, lw=0.8)
        looks = {"muon": optimizer("polar")} | {name: look for look, name in kinds(["own", "siblings"])}
        for name, place in zip(names, places, strict=True):
            look, values = looks[name], draws[task][name]
            axis.plot([place] * len(values), values, look.marker, color=look.colour)
        axis.set_xticks(places, [NAMES[name] for name in names])
        axis.set_xlim(-0.4, len(names) - 0.6)
        frame(axis, "", "test loss, nats", title)
    return figure
