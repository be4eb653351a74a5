"""The ledger says what there is: every statement once, and for each that is not open a section, a test and a record."""

import ast
from pathlib import Path

import ledger
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
ROWS = yaml.safe_load((ROOT / "chapters" / "ledger.yml").read_text(encoding="utf-8"))
SETTLED = [row for row in ROWS if row["verdict"] != ledger.OPEN]
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
    assert set(names) == STATEMENTS


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_settled_row_names_a_section_a_test_and_a_record_that_exist(row):
    chapter, _, anchor = row["chapter"].partition("#")
    text = (ROOT / "chapters" / chapter).read_text(encoding="utf-8")
    assert f":label: {anchor}\n" in text or f"({anchor})=\n" in text, f"{chapter} has no label {anchor}"
    file, name = row["test"].split("::")
    functions = ast.walk(ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8")))
    assert any(isinstance(node, ast.FunctionDef) and node.name == name for node in functions), row["test"]
    filled = ledger.evidence(row, ROOT)
    assert filled["verdict"] in ("reproduced", "finite-size", "not reproduced")
    assert any(character.isdigit() for character in filled["measured"]), "a verdict without a number"
    assert "{" not in filled["measured"]


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_its_number_comes_from_seeds_nobody_looked_at(row):
    import json

    record = json.loads((ROOT / "amemlib" / "records" / f"{row['record']}.json").read_text(encoding="utf-8"))
    assert record["config"]["first_seed"] >= 1000


def test_the_generated_pages_are_up_to_date():
    for path, text in ledger.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python tools/ledger.py write"


def test_a_number_that_is_not_in_the_record_cannot_be_shown():
    row = dict(SETTLED[0], show="{measured[slope][nobody]:.3f}")
    with pytest.raises(KeyError):
        ledger.evidence(row, ROOT)
