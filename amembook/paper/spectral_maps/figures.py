"""Pictures of maps on singular values: what they leave small, what that does to capacity."""

from functools import partial

from matplotlib.figure import Figure

from amembook.figures.style import MAPS, alpha_of, device_points, frame, key, name_lines, new_axes, optimizer

_LOOKS = MAPS | {
    "muon5": optimizer("muon", "quintic, 5 steps (as shipped)"),
    "cubic5": optimizer("cubic", "cubic, 5 steps"),
}


def _of_map(quantity: str, law: str, name: str, record: dict) -> dict:
    measured, predicted = record["measured"][quantity][name], record["predicted"][law][name]
    return {"x": record["config"]["dims"], "draws": measured, "law": predicted}


def maps_capacity_figure(record: dict, names) -> Figure:
    """Capacity against d for several maps of one record; two standard errors, sharp predictions as lines."""
    figure, (axis,) = new_axes(figsize=(5.0, 4.6))
    for name in names:
        device_points(axis, record, partial(_of_map, "seed_counts", "counts", name), _LOOKS[name])
    title = f"One population step, {alpha_of(record)} (lines: sharp)"
    frame(axis, "embedding dimension $d$", "recovered items", title, log="xy", base=2)
    places = {"muon5": (1, (6, -10)), "cubic5": (-1, (-2, 11)), "sgd": (-1, (-2, -14))}
    name_lines(axis, places={_LOOKS[name].label: place for name, place in places.items()})
    key(axis)
    return figure
