"""The cheat sheet: every rule has a number of a record, its limits and its chapter, and all of them fit one sheet."""

import re
from pathlib import Path

import cheat_sheet
import pytest

ROOT = Path(__file__).resolve().parents[1]
RULES = cheat_sheet.rules(ROOT)
WORDS = 900
"""What fits a sheet of paper in the type of the print style sheet."""


def test_the_page_is_up_to_date():
    for path, text in cheat_sheet.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make figures"


@pytest.mark.parametrize("row", [row for rows in RULES.values() for row in rows], ids=lambda row: row["statement"])
def test_a_rule_answers_a_question_with_a_number_that_it_reads_and_says_where_it_stops(row):
    written = next(one for one in cheat_sheet.ledger.rows(ROOT) if one["statement"] == row["statement"])["rule"]
    assert set(written) - {"record"} == {"ask", "say", "stops"} and written["ask"].endswith("?")
    assert written["say"].endswith(".") and written["stops"].endswith(".")
    assert re.search(r"\{[^}]*\[[^}]*:[^}]*\}", written["say"]), "no number of a record"
    assert not {"{", "}", "\n"} & set("".join(row["rule"].values()))


def test_the_sheet_is_the_first_page_of_its_part():
    toc = cheat_sheet.yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (part,) = (part for part in toc["parts"] if part["caption"] == "For practitioners")
    assert part["chapters"][0]["file"] == f"chapters/{cheat_sheet.PAGE}"


def test_the_sheet_is_short_enough_for_one():
    assert len(cheat_sheet.page(ROOT).split()) <= WORDS


def test_a_field_may_be_a_quotient_and_a_number_that_is_not_there_is_missed():
    fill = cheat_sheet.Shares().format
    assert fill("{a[0] / b[x]:.0%} {a[1]:.1f}", a=[1, 2], b={"x": 4}) == "25% 2.0"
    with pytest.raises(KeyError):
        fill("{a / nobody:.2f}", a=1)
