"""Every cell on a device that is none (`pretend`): what forgets to move a tensor fails here, and the numbers agree."""

import ast
import io
import math
import re
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pretend
import pytest
import torch

from amembook.paper.recall.runs import measure_run
from amembook.run import runtime
from amembook.run import studies as experiments
from amemlib import spectral

# Shapes at which a cell runs in a fraction of a second; whatever is not named keeps its smoke size.
SMALL = {
    "one-step": {"dims": (16, 32), "n_items": 200, "sgd_dims": (64, 128), "sgd_items": 40},
    "spectral-maps": {"dims": (16, 24), "scan_dims": (16,), "n_items": 300, "loss_dims": (16, 24), "loss_items": 200},
    "critical-batch": {"dims": (16, 32), "n_items": 300, "sgd_items": 40},
    "interactions": {"dims": (32, 64), "n_items": 300},
}
QUICK = ("one-step", "sharp", "loss")
CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
COUNTING = (
    "one-step", "deflation", "sgd", "minibatches", "newton", "associative-memory", "sharp", "many-step-counts",
    "budget-game", "assembly",
)  # fmt: skip
"""The chapters whose cells take a GPU where there is one."""
TRAINING = {
    "n_items": 12, "length": 20, "pairs": 2, "trigger_alpha": 1.5, "output_alpha": 1.5, "dim": 16, "batch_size": 4,
    "steps": 2, "probe_every": 1, "lr": 0.01, "unembedding_length": 1.0, "seed": 0,
}  # fmt: skip


def cells_of(name: str) -> list:
    """One cell of every function of an experiment that knows of a device, the smallest first."""
    experiment = experiments.find_experiment(name)
    config = replace(experiment.profiles["smoke"], **SMALL.get(name, {}))
    cells = [cell for cell in experiment.cells(config, "meta") if "device" in cell.arguments]
    return list({cell.function: cell for cell in reversed(cells)}.values())


def numbers(value) -> list[float]:
    """All numbers of nested dicts, lists and arrays, in order."""
    value = value.tolist() if isinstance(value, np.ndarray | torch.Tensor) else value
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in numbers(value[key])]
    if isinstance(value, list):
        return [x for item in value for x in numbers(item)]
    return [math.nan if value is None else float(value)]


def both(monkeypatch, function, arguments: dict) -> tuple[dict, dict]:
    """The result here, and the one from elsewhere."""
    here = function(**arguments | {"device": "cpu"})
    monkeypatch.setattr(runtime, "device", lambda name="auto": pretend.LABEL)
    with pretend.elsewhere():
        there = function(**arguments | {"device": "meta"})
    monkeypatch.undo()
    return here, there


def agree(monkeypatch, name: str) -> None:
    for cell in cells_of(name):
        here, there = both(monkeypatch, cell.function, cell.arguments)
        assert numbers(there) == pytest.approx(numbers(here), rel=1e-6, abs=1e-8, nan_ok=True), cell.function.__name__


@pytest.mark.parametrize("name", QUICK)
def test_cells_agree_elsewhere(name, monkeypatch):
    agree(monkeypatch, name)


# recall trains for hundreds of steps, and the cells of lemmas know of no device
@pytest.mark.weekly
@pytest.mark.parametrize(
    "name", sorted({*experiments.PAPER} - {*QUICK, "recall", "recall-rates", "recall-capacity", "lemmas"})
)
def test_cells_of_every_experiment_agree_elsewhere(name, monkeypatch):
    agree(monkeypatch, name)


@pytest.mark.weekly
@pytest.mark.parametrize("optimizer", ["muon", "exact_muon", "adamw", "sgd"])
def test_the_network_trains_elsewhere(optimizer, monkeypatch, tmp_path):
    monkeypatch.setenv("AMEM_CHECKPOINTS", str(tmp_path))
    monkeypatch.setattr("amembook.paper.recall.runs.EVALUATED", 4)
    arguments = TRAINING | {"optimizer": optimizer, "hidden": 16 if optimizer == "muon" else 0}
    here, there = both(monkeypatch, measure_run, arguments)
    assert numbers(there) == pytest.approx(numbers(here), rel=1e-4, abs=1e-6, nan_ok=True)


def test_an_autograd_step_elsewhere(monkeypatch):
    monkeypatch.setattr("amembook.paper.recall.runs.EVALUATED", 2)
    here, there = both(monkeypatch, measure_run, TRAINING | {"optimizer": "sgd", "hidden": 0, "steps": 1})
    assert there["loss"][0] is None and there["loss"][1] == pytest.approx(here["loss"][1], rel=1e-5)


@pytest.mark.parametrize(
    "mixed",
    [
        lambda x, y: x + y,
        lambda x, y: y @ x,
        lambda x, y: torch.where(x > 0, x, y),
        lambda x, y: x.numpy(),
        lambda x, y: torch.cat([x, y]),
    ],
)
def test_tensors_elsewhere_refuse_those_here(mixed):
    """A stand-in that lets this pass proves nothing."""
    with pretend.elsewhere() as place, pytest.raises((RuntimeError, TypeError)):
        mixed(torch.ones(3, 3).to(place), torch.ones(3, 3))


def test_a_bug_of_the_usual_kind_is_found(monkeypatch):
    """A cell that makes its mask on the CPU runs here and fails elsewhere."""

    def forgetful(device):
        x = torch.arange(5.0).to(runtime.device(device))
        return {"sum": float((x * torch.ones(5)).sum())}

    assert forgetful("cpu") == {"sum": 10.0}
    with pytest.raises(RuntimeError, match="one device"):
        both(monkeypatch, forgetful, {})


@pytest.mark.parametrize("condition", [1e1, 1e3, 1e6])
def test_products_give_the_polar_factor_and_the_singular_triples(condition):
    """Against the SVD, at 10⁻⁶ up to condition 10⁶: what `polar` and the maps do off the CPU."""
    generator = torch.Generator().manual_seed(0)
    P, Q = (torch.linalg.qr(torch.randn(96, 96, dtype=torch.float64, generator=generator)).Q for _ in "PQ")
    s = torch.logspace(0, -math.log10(condition), 96, dtype=torch.float64)
    G = (P * s) @ Q.T
    assert torch.linalg.matrix_norm(spectral.polar_by_products(G) - spectral.polar(G), 2) < 1e-6
    with pretend.elsewhere() as place:
        there = G.to(place)
        left, values, right = (part.cpu() for part in spectral.singular_triples(there))
        maps = [(spectral.polar(there).cpu(), spectral.polar(G))]
        maps.append((spectral.smoothed_sign(there, 0.01).cpu(), spectral.smoothed_sign(G, 0.01)))
    assert values == pytest.approx(s, rel=1e-6)
    assert torch.linalg.matrix_norm(left * values @ right - G, 2) < 1e-12
    for there, here in maps:
        assert torch.linalg.matrix_norm(there - here, 2) < 1e-6


def code_cells(stem: str) -> list:
    """The executed cells of a chapter's notebook but the one that installs."""
    cells = nbformat.read(CHAPTERS / f"{stem}.ipynb", as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code" and "colab" not in cell.metadata.get("tags", ())]


def printed(source: str, names: dict) -> str:
    """What a cell prints and the value it ends with, as text; `names` gets what it defines."""
    tree, text = ast.parse(source), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(text):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return text.getvalue() + ("" if value is None else repr(value))


def stored(cell) -> str:
    """What the notebook holds of that."""
    kinds = {"stream": lambda out: out.text, "execute_result": lambda out: out.data["text/plain"]}
    return "".join(kinds[out.output_type](out) for out in cell.outputs if out.output_type in kinds)


def chapter_elsewhere(stem: str, monkeypatch) -> None:
    """Every cell of a chapter prints on the other device what its notebook holds."""
    monkeypatch.setattr(runtime, "device", lambda name="auto": pretend.LABEL)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    names = {}
    with mpl.rc_context(), pretend.elsewhere():
        for cell in code_cells(stem):
            assert printed(cell.source, names) == stored(cell), cell.source
    assert names["device"] == pretend.LABEL.type


@pytest.mark.slow
def test_a_chapter_prints_the_same_elsewhere(monkeypatch):
    chapter_elsewhere("budget-game", monkeypatch)


@pytest.mark.weekly
@pytest.mark.parametrize("stem", [stem for stem in COUNTING if stem != "budget-game"])
def test_every_counting_chapter_prints_the_same_elsewhere(stem, monkeypatch):
    chapter_elsewhere(stem, monkeypatch)


@pytest.mark.parametrize("stem", COUNTING)
def test_a_counting_chapter_draws_on_its_device(stem):
    sources = [cell.source for cell in code_cells(stem)]
    draws = [call for source in sources for call in re.findall(r"am\.sample_embeddings\([^)]*\)", source)]
    assert draws and all("device=device" in call for call in draws), draws
    assert sum("device = start_chapter()" in source for source in sources) == 1


@pytest.mark.parametrize("book", ["chapters", "companions/chapters"])
def test_no_cell_shows_the_device(book):
    """A cell that ends with `start_chapter()` would print its value."""
    for path in (CHAPTERS.parent / book).rglob("*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        assert not [cell for cell in cells if cell.source.rstrip().endswith("\nstart_chapter()")], path


def test_what_has_no_full_rank_is_left_to_the_svd():
    G = torch.randn(12, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    low = G @ G.T
    assert spectral.polar_by_products(G) is None and spectral.polar_by_products(low) is None
    with pretend.elsewhere() as place:
        assert torch.allclose(spectral.polar(low.to(place), 7).cpu(), spectral.polar(low, 7), atol=1e-9)
        assert torch.allclose(spectral.singular_values(G.to(place)).cpu(), spectral.singular_values(G), atol=1e-12)
