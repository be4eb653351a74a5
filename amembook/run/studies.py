"""The studies by name: for each a frozen config, its sizes, what a cell measures and what the theory predicts for it.

A study is a module with `EXPERIMENT` in it. Those of the paper are listed here in the order of the book; those of
practice and of companions are the folders of these packages. None is imported before it is asked for.
"""

import ast
import pkgutil
import re
from importlib import import_module
from pathlib import Path

_HOUSE = Path(__file__).resolve().parents[1]

PAPER = {
    "one-step": "one_step",
    "spectral-maps": "spectral_maps",
    "critical-batch": "critical_batch",
    "signal": "signal",
    "interactions": "interactions",
    "loss": "loss",
    "optimality": "optimality",
    "lemmas": "lemmas",
    "precision": "precision",
    "deflation": "deflation",
    "safe-list": "safe_list",
    "sharp": "sharp",
    "many-steps": "iterates.many_steps",
    "trajectory": "iterates.trajectory",
    "iterates-domain": "iterates.domain",
    "iterates-ratio": "iterates.ratio",
    "race": "iterates.race",
    "recall-rates": "recall.rates",
    "recall": "recall",
    "recall-capacity": "recall.capacity",
    "vocabulary": "vocabulary",
    "gradient-limit": "gradient_limit",
    "trained-map": "trained_map",
    "quieting": "quieting",
    "whitening": "whitening",
    "zoo": "zoo",
    "two-sided": "two_sided",
    "whitened-runs": "whitened_runs",
}
"""The studies of the main book and their modules in `amembook.paper`."""


def names() -> dict[str, list[str]]:
    """The names of all studies by group: paper, practice, companions."""
    modules = lambda group: pkgutil.iter_modules([str(_HOUSE / group)])
    folders = lambda group: sorted(one.name.replace("_", "-") for one in modules(group) if one.ispkg)
    return {"paper": list(PAPER), "practice": folders("practice"), "companions": folders("companions")}


def find_experiment(name: str):
    """The study of that name, an `Experiment`; `ValueError` listing the names if there is none."""
    return import_module(module_of(name)).EXPERIMENT


def purpose_of(name: str) -> str:
    """What a study is for, read from its source: to import it would load torch. `headline` of its docstring unless a
    text stands there."""
    path = _HOUSE.parent / module_of(name).replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")
    stated = re.search(r'purpose=\(?((?:\s*"[^"]*")+)', text)
    return "".join(re.findall('"(.*?)"', stated[1])) if stated else headline(ast.get_docstring(ast.parse(text)))


def headline(docstring: str) -> str:
    """The first line of a study's docstring without its name and its full stop."""
    return docstring.splitlines()[0].partition(": ")[2].rstrip(".")


def module_of(name: str) -> str:
    """The module of a study; `ValueError` listing the names if there is none of that name."""
    for group, known in names().items():
        if name in known:
            return f"amembook.{group}.{PAPER[name] if group == 'paper' else name.replace('-', '_')}"
    listed = ", ".join(name for known in names().values() for name in known)
    raise ValueError(f"experiment must be one of {listed}, got {name!r}")
