"""The reference: the library in a reader's order, whole and without its machinery, displayed formulas in TeX."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import jedi
import pytest
from api_pages import FORMULA, tex

import amemlib as am
from amembook import laws

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"
PAGE = (CHAPTERS / "api.md").read_text(encoding="utf-8")
SOURCES = sorted(path for package in (am, laws) for path in Path(package.__file__).parent.rglob("*.py"))
MODULES = [name for name in am.__all__ if inspect.ismodule(getattr(am, name))]


def test_the_reference_has_every_public_module_in_the_order_of_the_library_and_nothing_else():
    shown = [name for name in re.findall(r"automodule:: ([\w.]+)", PAGE) if name != "amembook.laws"]
    assert shown == [f"amemlib.{name}" for name in MODULES]
    for machinery in ("checks", "arithmetic", "amembook.run"):
        assert machinery not in PAGE


def test_what_the_library_shows_is_there_and_says_what_it_is():
    assert am.__all__[0] == "Problem" and set(am.__all__) <= set(dir(am))
    for name in am.__all__:
        assert inspect.getdoc(getattr(am, name)), name
    with pytest.raises(AttributeError, match="no attribute 'sgn'"):
        am.sgn  # noqa: B018


def test_an_editor_completes_a_name_and_knows_that_the_library_is_typed():
    (polar,) = jedi.Script("import amemlib as am\nam.pol").complete()
    assert polar.name == "polar" and polar.type == "function"
    assert Path(am.__file__).with_name("py.typed").exists()


@pytest.mark.parametrize("name", ["amemlib.spectral", "amemlib.equivalents", "amembook.laws"])
def test_a_package_shows_all_public_functions_of_its_files(name):
    package = import_module(name)
    known = {"fixed_point", "winning", "stream"}
    for path in sorted(Path(package.__file__).parent.glob("*.py")):
        if path.stem not in known | {"__init__"}:
            module = import_module(f"{name}.{path.stem}")
            own = [f for f in vars(module).values() if getattr(f, "__module__", None) == module.__name__]
            public = {f.__name__ for f in own if inspect.isfunction(f) and not f.__name__.startswith("_")}
            assert public - set(vars(package)) <= {"solve_two_sided", "expected_softplus"}, path.stem


@pytest.mark.parametrize(
    "formula, typeset",
    [
        ("−∇L(W) = Σ_i q_i (u_i − ū) v_iᵀ", r"-\nabla L(W) = \sum _{i} q_{i} (u_{i} - \bar{u}) v_{i}^{\top }"),
        ("W = Σ_u⁻¹ G₀   at ϱ = 0", r"W = \Sigma _{u}^{-1} G_{0} \qquad\text{ at }\varrho  = 0"),
        ("θ min{d_t, B^{1/α}} √(x² + 1)", r"\theta \operatorname{min} \{d_{t}, B^{1/\alpha }\} \sqrt{x^{2} + 1}"),
        ("Π_{j≠i} p̂_ij′ f*(ds)", r"\prod _{j\ne i} \hat{p}_{ij}' f^{*}(ds)"),
    ],
)
def test_a_line_of_unicode_mathematics_becomes_tex(formula, typeset):
    assert tex(formula) == typeset


def test_every_displayed_formula_becomes_plain_tex():
    displayed = []
    for path in SOURCES:
        for docstring in re.findall(r'"""(.+?)"""', path.read_text(encoding="utf-8"), re.DOTALL):
            displayed += [
                line for part in FORMULA.findall(inspect.cleandoc(docstring) + "\n") for line in part.split("\n")
            ]
    assert len(displayed) > 20
    for line in displayed:
        assert tex(line).isascii() and tex(line).count("{") == tex(line).count("}"), line


def test_a_line_that_carries_an_equation_names_one_that_a_chapter_has():
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    named = set(re.findall(r"# (eq-[\w-]+)", text))
    labels = {label for path in CHAPTERS.glob("*.md") for label in re.findall(r"\((eq-[\w-]+)\)", path.read_text())}
    assert len(named) > 4 and named <= labels
