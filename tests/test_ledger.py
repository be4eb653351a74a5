"""The ledger says what there is: every statement once, and for each that is not open a section, a test and a record."""

import ast
import json
import re
from pathlib import Path

import ledger
import pytest

from amemlib.verdicts import OPEN, WORDS

ROOT = Path(__file__).resolve().parents[1]
ROWS = ledger.rows(ROOT)
SETTLED = [row for row in ROWS if row["verdict"] != OPEN]
LEMMAS = (8, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, *range(27, 37))
STATEMENTS = {
    *(f"Theorem {number}" for number in (1, 2, 3, 5, 9, 10)),
    "Corollary 4",
    *(f"Proposition {number}" for number in (6, 11, 18, 26)),
    *(f"Lemma {number}" for number in LEMMAS),
    "Assumption 7",
    "Conjecture",
    *(f"Figure {number}" for number in range(1, 9)),
}


def test_every_statement_of_the_paper_has_one_row():
    names = [row["statement"] for row in ROWS]
    assert len(names) == len(set(names))
    assert {row["statement"] for row in ROWS if row["group"] == "paper"} == STATEMENTS


def test_what_the_paper_does_not_say_stands_in_a_group_of_its_own():
    groups = ledger.by_group(ROWS)
    assert sum(map(len, groups.values())) == len(ROWS), "a group that tools/ledger.py does not know"
    page = ledger.page(ledger.load(ROOT), ROOT)
    assert page.index("Figure 8") < page.index("## Beyond the paper")


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_settled_row_names_a_section_and_tests_that_exist(row):
    chapter, _, anchor = row["chapter"].partition("#")
    text = (ROOT / "chapters" / chapter).read_text(encoding="utf-8")
    headings = {re.sub(r"\W+", "-", heading.lower()).strip("-") for heading in re.findall(r"^##+ (.*)$", text, re.M)}
    known = anchor in headings or f":label: {anchor}\n" in text or f"({anchor})=\n" in text
    assert anchor and known, f"{chapter} has no label and no heading {anchor!r}"
    for file, name in (test.split("::") for test in ledger.several(row["test"])):
        functions = ast.walk(ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8")))
        assert any(isinstance(node, ast.FunctionDef) and node.name == name for node in functions), name


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_settled_rows_numbers_come_from_seeds_nobody_looked_at(row):
    for name in ledger.several(row["record"]):
        record = json.loads((ROOT / "amemlib" / "records" / f"{name}.json").read_text(encoding="utf-8"))
        assert record["config"]["first_seed"] >= 1000
    filled = ledger.evidence(row, ROOT)
    assert filled["verdict"] in set(WORDS) - {OPEN}
    assert any(character.isdigit() for character in filled["measured"]), "a verdict without a number"
    assert not {"{", "}", "\n"} & set(filled["measured"] + filled["size"])


def test_the_generated_pages_are_up_to_date():
    for path, text in ledger.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make figures"


def test_a_number_that_is_not_in_the_record_cannot_be_shown():
    row = dict(SETTLED[0], show="{measured[slope][nobody]:.3f}")
    with pytest.raises(KeyError):
        ledger.evidence(row, ROOT)


def test_the_worst_of_several_verdicts_counts_from_whichever_record():
    row = dict(SETTLED[0], record=["optimality/confirm-alpha-1.5", "lemmas/confirm-alpha-1.5"], show="0", front="0")
    del row["size"]
    assert ledger.evidence(dict(row, verdict=["haar", "inverse_sum"]), ROOT)["verdict"] == "finite-size"
    assert ledger.evidence(dict(row, verdict=["haar", "1.lemma_12_sign"]), ROOT)["verdict"] == "consistency check"
    with pytest.raises(KeyError):
        ledger.evidence(dict(row, verdict="lemma_23"), ROOT)


def test_numbers_round_up_never_down():
    fill = ledger.Rounding().format
    assert fill("{0!u:.2f} {1!u:.2f} {2!u:.1f}", 1.371, 1.37, 2.0000000001) == "1.38 1.37 2.0"


def test_plain_formulas_are_set_and_formulas_stay():
    assert ledger.typeset("α = 1.5; d = 64, 128") == r"$\alpha$ = 1.5; $d$ = 64, 128"
    assert ledger.typeset(r"$d=64$ at λ = t₀") == r"$d=64$ at λ = $t_0$"
    assert ledger.typeset("norm over ζ⁻² m^(1−2α)/d") == r"norm over $\zeta^{-2}m^{1-2\alpha}/d$"
    for row in ledger.load(ROOT):
        text = ledger.typeset("; ".join(row[key] for key in ("claim", "measured", "size")))
        assert text.count("$") % 2 == 0 and "$$" not in text, row["statement"]


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_row_shows_a_figure_that_its_page_has(row):
    address = ledger.picture(row, ROOT)
    if address is not None:
        chapter, _, label = address.partition(".html#")
        text = (ROOT / "chapters" / f"{chapter}.md").read_text(encoding="utf-8")
        assert f"name: {label}\n" in text or f"name: {label} " in text
    if "short" in row:
        assert address is not None, "what the front page names has a figure"


def test_the_front_page_has_a_line_a_theorem_with_two_numbers_at_most():
    named = [row for row in ledger.load(ROOT) if row["statement"].startswith(("Theorem", "Corollary", "Conj"))]
    assert [row["statement"] for row in named] == [row["statement"] for row in ledger.load(ROOT) if "short" in row]
    for row in named:
        numbers = re.findall(r"\d[\d.,]*", re.sub(r"\$[^$]*\$", "", row["number"]))
        assert 1 <= len(numbers) <= 2, row["number"]


def test_the_details_of_a_row_say_what_would_decide_it():
    by_name = {row["statement"]: dict(row["details"]) for row in ledger.load(ROOT)}
    for row in ledger.load(ROOT):
        assert ("what would decide" in by_name[row["statement"]]) or row["verdict"] != "undecided"
        assert {"record", "test"} <= set(by_name[row["statement"]])
