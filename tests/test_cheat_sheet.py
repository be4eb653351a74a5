"""The cheat sheet: every rule has a number of a record with its interval, says for what, and all fit one sheet."""

import re
from pathlib import Path
from types import SimpleNamespace

import cheat_sheet
import pytest
import torch

import amemlib as am

ROOT = Path(__file__).resolve().parents[1]
RULES = cheat_sheet.rules(ROOT)
WORDS = 900
"""What fits a sheet of paper in the type of the print style sheet."""
MOST = 12
INTERVAL = re.compile(r"\d(\u00a0%)? \[[−\d.]+, [−\d.]+\]")


def test_the_page_is_up_to_date():
    for path, text in cheat_sheet.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make figures"


@pytest.mark.parametrize("row", [row for rows in RULES.values() for row in rows], ids=lambda row: row["statement"])
def test_a_rule_is_an_imperative_with_a_number_that_it_reads_and_says_for_what(row):
    written = next(one for one in cheat_sheet.ledger.rows(ROOT) if one["statement"] == row["statement"])["rule"]
    assert set(written) - {"record"} == {"do", "say", "where"} and all(
        written[key].endswith(".") for key in written if key != "record"
    )
    assert re.match(r"[A-Z][a-z]+ ", written["do"]) and "?" not in written["do"]
    assert INTERVAL.search(row["rule"]["say"]), "no number with its interval"
    assert not {"\n"} & set("".join(row["rule"].values()))


def test_the_sheet_is_the_first_page_of_its_part():
    toc = cheat_sheet.yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    (part,) = (part for part in toc["parts"] if part["caption"] == "Workshop")
    assert part["chapters"][0]["file"] == f"chapters/{cheat_sheet.PAGE}"


def test_the_sheet_is_short_enough_for_one():
    assert len(re.sub("<[^>]*>", "", cheat_sheet.page(ROOT)).split()) <= WORDS
    assert sum(map(len, RULES.values())) <= MOST


def test_the_ledgers_word_stands_at_every_rule():
    lines = [line for line in cheat_sheet.page(ROOT).splitlines() if line.startswith("1. ")]
    words = [row["verdict"] for rows in RULES.values() for row in rows]
    for line, word in zip(lines, words, strict=True):
        assert f'class="verdict {word.replace(" ", "-")}">{word}<' in line


@pytest.mark.parametrize("rank", [24, 6])
def test_the_lines_of_code_are_the_doctors_reach(rank):
    A = torch.randn(24, 24, generator=torch.Generator().manual_seed(0)).cumsum(0)
    M = A[:, :rank] @ A[:rank]
    code = re.search(r"```python\n(.+?)```", cheat_sheet.page(ROOT), re.S)[1]
    found = {"torch": torch, "p": "p", "optimizer": SimpleNamespace(state={"p": {"momentum_buffer": M}})}
    exec(code, found)
    assert float(found["reach"]) == pytest.approx(am.diagnose(M).reach["jordan"], rel=2e-3)


def test_a_field_may_be_a_quotient_and_a_number_that_is_not_there_is_missed():
    fill = cheat_sheet.Shares().format
    assert fill("{a[0] / b[x]:.0%} {a[1]:.1f}", a=[1, 2], b={"x": 4}) == "25% 2.0"
    with pytest.raises(KeyError):
        fill("{a / nobody:.2f}", a=1)


def test_a_judged_number_comes_with_its_interval():
    one = {"measured": 2.0, "low": 1.0, "high": 3.0, "law": 5.0}
    assert cheat_sheet.Shares().format("{a / b:.0%} {a:.1f}", a=one, b=4) == "50% [25, 75] 2.0 [1.0, 3.0]"
