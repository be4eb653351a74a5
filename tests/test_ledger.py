"""A ledger says what there is: every statement once, and for each that is not open a section, a test and a record."""

import ast
import csv
import json
import re
from collections import Counter
from pathlib import Path

import ledger
import pytest

from amembook.run import claims
from amembook.run.claims import OPEN, PREDICTED, REPRODUCED, WORDS

ROOT = Path(__file__).resolve().parents[1]
ROWS = [row for book in ledger.LEDGERS for row in ledger.rows(ROOT, book)]
LOADED = [row for book in ledger.LEDGERS for row in ledger.load(ROOT, book)]
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


FILES = {path.name: path for folder in ("tests", "amembook") for path in (ROOT / folder).rglob("test_*.py")}


def test_every_statement_of_the_paper_has_one_row():
    names = [row["statement"] for row in ROWS]
    assert len(names) == len(set(names))
    for book, folder in ledger.LEDGERS.items():
        assert {path.stem for path in (ROOT / folder).glob("*.yml")} == set(ledger.GROUPS[book]), "rows no page shows"
    assert {row["statement"] for row in ROWS if row["group"] == "paper"} == STATEMENTS


def test_what_nobody_knows_is_the_conjecture_and_its_figure_and_is_judged_by_no_law_of_ours():
    unknown = [row for row in LOADED if row["verdict"] == OPEN]
    assert [row["statement"] for row in unknown] == ["Conjecture", "Figure 4"]
    assert all(not row["parts"] and "recursion" not in row["measured"] for row in unknown)
    growth = next(row for row in LOADED if row["statement"] == "A recursion for the true iterates, its growth")
    assert growth["of"] == "ours" and {part["key"] for part in growth["parts"]} == {"exponents", "trend"}


def test_every_row_says_whose_it_is_and_stands_on_the_page_of_all():
    for book, others in (("", {"paper", "ours"}), ("companions", {"companion", "ours"})):
        rows = [row for row in LOADED if row["book"] == book]
        assert {row["of"] for row in rows} == others
        page = (ROOT / book / "chapters" / "all-statements.md").read_text(encoding="utf-8")
        assert len(re.findall(r"^\| .*class=\"verdict", page, re.M)) == len(rows)
        assert all(ledger.link(row, ROOT) in page for row in rows)
    assert all((row["of"] == "paper") == (row["group"] == "paper") for row in ROWS)


def test_the_page_is_short_and_folds_nothing():
    for book in ledger.LEDGERS:
        page = (ROOT / book / "chapters" / "evidence.md").read_text(encoding="utf-8")
        assert len(re.sub("<[^>]*>", "", page).split()) <= 5000 and "<details" not in page and "dropdown" not in page


def test_the_hardest_tests_are_half_at_new_sizes_and_say_which_is_not_met():
    for book, least in (("", 12), ("companions", 5)):
        rows = [row for row in LOADED if row["book"] == book]
        words = [
            part["word"] for row in rows for part in row["parts"] if part["key"] in ledger.several(row.get("hard", []))
        ]
        lines = ledger.hardest(rows, ROOT)
        assert least <= len(lines) <= 15 and all(line[-1] for line in lines)
        assert sum("undecided" in line[3] for line in lines) <= words.count("undecided")
        assert set(words) <= {REPRODUCED, PREDICTED, "undecided"} and words.count("undecided") < len(words) / 5
        if not book:
            assert 2 * sum("★" in line[0] for line in lines) >= len(lines)


def test_what_misses_is_called_by_words_and_no_words_are_left_over():
    for row in LOADED:
        missed = [part for part in row["parts"] if claims.word(part) == claims.NOT_REPRODUCED and "repeats" not in row]
        ones = [ledger.furthest(part["numbers"]) or ledger.lowest(part["numbers"], "high") for part in missed]
        assert set(row.get("missed", {})) == {one["name"] for one in ones}, row["statement"]
        # a bound that is kept is no miss
        assert all(one["band"] or one["high"] < ledger.base(one) for one in ones), row["statement"]


def test_a_word_on_the_sheet_or_beside_a_proof_leads_to_its_row():
    page = (ROOT / "chapters" / "all-statements.md").read_text(encoding="utf-8")
    for name in ("evidence.md", "practice/cheat-sheet.md"):
        text = (ROOT / "chapters" / name).read_text(encoding="utf-8")
        rows = re.findall(r'<a href="[./]*all-statements\.html#([\w-]+)"><span class="verdict [\w-]+">([\w ]+)<', text)
        assert len(rows) >= 5
        for place, word in rows:
            assert page.count(f' id="{place}">{word}<') == 1


def test_a_row_that_repeats_others_has_no_measurement_of_its_own():
    def parts(row):
        records = ledger.several(row["record"])
        keys = [key.rpartition(".") for key in ledger.several(row["verdict"])]
        return {(records[int(number or 0)], key) for number, _, key in keys}

    named = {row["statement"]: row for row in ROWS}
    for row in ROWS:
        if "repeats" in row:
            others = [named[name] for name in ledger.several(row["repeats"])]
            assert parts(row) <= set().union(*map(parts, others)), row["statement"]
            assert not any("repeats" in other for other in others)


def test_a_line_of_the_csv_is_a_judged_number_on_the_scale_of_its_band():
    for book, folder in ledger.LEDGERS.items():
        rows = {row["statement"]: row for row in LOADED if row["book"] == book}
        with (ROOT / folder / "evidence.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert list(lines[0]) == ledger.COLUMNS
        counts = Counter(line["statement"] for line in lines)
        for name, row in rows.items():
            assert counts[name] == sum(max(1, len(verdict["numbers"])) for verdict in row["parts"]) or not row["parts"]
        for line in lines:
            row = rows[line["statement"]]
            assert (line["of"], line["word"]) == (row["of"], row["verdict"])
            law, mean, low, high, band = (
                float(line[key] or "nan") for key in ("law", "measured", "low", "high", "band")
            )
            if line["word"] in (REPRODUCED, PREDICTED) and line["law"] and line["band"]:
                # an entry of a family may straddle its band, its total must not
                assert low <= mean <= high and low <= law + band and high >= law - band, line
            assert bool(line["rule_commit"]) == bool(line["record_commit"]) == bool(row["parts"])


def off_by_twice(one, error, sign):
    """A judged number whose law and limit are moved by twice an error on its scale: a factor twice, that is squared."""
    move = lambda x: x * (1 + error) ** (2 * sign) if one["scale"] == claims.RATIO else x + 2 * sign * error
    return one | {key: move(one[key]) for key in ("law", "limit") if one[key] is not None}


def test_a_law_off_by_twice_what_its_row_would_notice_loses_its_word():
    for row in LOADED:
        for part in row["parts"]:
            error, numbers = claims.noticed(part), part["numbers"]
            if error is None or part["word"] == claims.NOT_REPRODUCED:
                continue
            those = [one["scale"] for one in claims.decisive(numbers) if not one.get("guard")]
            scale = claims.RATIO if claims.RATIO in those else claims.DIFFERENCE
            for sign in (1, -1):
                moved = [off_by_twice(one, error, sign) if one["scale"] == scale else one for one in numbers]
                assert claims.equivalence(moved)["word"] != part["word"], (row["statement"], part["key"])


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_settled_row_names_a_section_and_tests_that_exist(row):
    chapter, _, anchor = row["chapter"].partition("#")
    text = (ROOT / row["book"] / "chapters" / chapter).read_text(encoding="utf-8")
    headings = {re.sub(r"\W+", "-", heading.lower()).strip("-") for heading in re.findall(r"^##+ (.*)$", text, re.M)}
    known = anchor in headings or f":label: {anchor}\n" in text or f"({anchor})=\n" in text
    assert anchor and known, f"{chapter} has no label and no heading {anchor!r}"
    for test in ledger.several(row["test"]):
        file, name = test.split("::")
        functions = ast.walk(ast.parse(FILES[file].read_text(encoding="utf-8")))
        assert any(isinstance(node, ast.FunctionDef) and node.name == name for node in functions), name


@pytest.mark.parametrize("row", SETTLED, ids=lambda row: row["statement"])
def test_a_settled_rows_numbers_come_from_seeds_nobody_looked_at(row):
    for name in ledger.several(row["record"]):
        record = json.loads((ROOT / "amembook" / "records" / f"{name}.json").read_text(encoding="utf-8"))
        assert record["config"]["first_seed"] >= 1000
    filled = ledger.evidence(row, ROOT)
    assert filled["verdict"] in set(WORDS) - {OPEN}
    assert any(character.isdigit() for character in filled["measured"]), "a verdict without a number"
    assert not {"{", "}", "\n"} & set(re.sub(r"\$[^$]+\$", "", filled["measured"] + filled["size"]))


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
    assert ledger.evidence(dict(row, verdict=["haar", "inverse_sum"]), ROOT)["verdict"] == "undecided"
    assert ledger.evidence(dict(row, verdict=["haar", "1.lemma_12_sign"]), ROOT)["verdict"] == "consistency check"
    with pytest.raises(KeyError):
        ledger.evidence(dict(row, verdict="lemma_23"), ROOT)


def test_formulas_are_tex():
    for row in LOADED:
        text = "; ".join(row[key] for key in ("claim", "measured", "size"))
        assert text.count("$") % 2 == 0 and "$$" not in text, row["statement"]
        plain = re.sub(r"\$[^$]+\$", "", text)
        assert not re.search(r"(?<!\w)(?:d|N|B|T|α|η|λ) [=≤≥] \d", plain), row["statement"]


def test_the_front_page_has_a_line_a_theorem_with_two_numbers_at_most():
    named = [row for row in ledger.load(ROOT) if row["statement"].startswith(("Theorem", "Corollary", "Conj"))]
    assert [row["statement"] for row in named] == [row["statement"] for row in ledger.load(ROOT) if "short" in row]
    for row in named:
        numbers = re.findall(r"\d[\d.,]*", re.sub(r"\$[^$]*\$", "", row["number"]))
        assert 1 <= len(numbers) <= 2, row["number"]


def test_what_is_missed_or_undecided_stands_on_the_page_with_what_would_decide_it():
    for row in LOADED:
        if row["verdict"] in ("undecided", "not reproduced") and "repeats" not in row:
            page = (ROOT / row["book"] / "chapters" / "evidence.md").read_text(encoding="utf-8")
            heading = "## Undecided" if row["verdict"] == "undecided" else "## Where the prediction misses"
            section = page.partition(heading)[2].partition("\n## ")[0]
            assert f"{ledger.link(row, ROOT)} | {row['of']} | " in section
            assert ledger.deciding(row)


def test_a_number_that_is_told_as_a_miss_is_one():
    parts = [part for row in LOADED if row["verdict"] == "not reproduced" for part in row["parts"]]
    parts = [part for part in parts if part["kind"] == "law" and ledger.word(part) == "not reproduced"]
    assert len(parts) > 20
    for part in parts:
        one = ledger.furthest(part["numbers"])
        law, band = ledger.base(one), ledger.reach(one)
        low, high = (ledger.off(one[end], law, one["scale"]) for end in ("low", "high"))
        assert low > band or high < -band, (part["record"], one["name"])


def test_what_was_dropped_before_it_was_stored_stands_on_the_page():
    lines = [line for book in ledger.LEDGERS for line in ledger.dropped([r for r in ROWS if r["book"] == book], ROOT)]
    assert sorted(line[0].partition("–")[0] for line in lines) == ["3300", "3500", "3700", "4800", "5300", "5700"]


def test_a_rule_that_was_made_easier_stands_on_the_page():
    of = {book: "\n".join(ledger.eased([r for r in ROWS if r["book"] == book], ROOT)) for book in ledger.LEDGERS}
    assert all(f"Theorem {n}" in of[""] for n in (1, 2, 3, 5, 9, 10)) and "Semiautomata" in of["companions"]
    for book, text in of.items():
        assert text in (ROOT / book / "chapters" / "evidence.md").read_text(encoding="utf-8")


def test_a_front_page_counts_its_own_book():
    for book in ledger.LEDGERS:
        rows = [row for row in LOADED if row["book"] == book]
        text = (ROOT / book / "README.md").read_text(encoding="utf-8")
        assert "\n".join(ledger.status(rows)) in text
        counted = [row for row in rows if "short" not in row and "repeats" not in row]
        assert sum(map(int, re.findall(r"^\| (\d+) ", text, re.M))) == len(counted)
