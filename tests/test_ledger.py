"""A ledger says what there is: every statement once, and for each that is not open a section, a test and a record."""

import ast
import csv
import functools
import math
import re
from collections import Counter
from pathlib import Path

import growth
import ledger
import pytest
from scipy.stats import t as student_t

from amembook.run import claims, studies
from amembook.run.base import config_of, configure
from amembook.run.claims import OPEN, PREDICTED, REPRODUCED, WORDS

ROOT = Path(__file__).resolve().parents[1]
ROWS = [row for book in ledger.LEDGERS for row in ledger.rows(ROOT, book)]
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


@functools.cache
def loaded() -> list[dict]:
    """All rows with what their records say: read when a test asks, not by every worker that collects."""
    return [row for book in ledger.LEDGERS for row in ledger.load(ROOT, book)]


def test_every_statement_of_the_paper_has_one_row():
    names = [row["statement"] for row in ROWS]
    assert len(names) == len(set(names))
    for book, folder in ledger.LEDGERS.items():
        assert {path.stem for path in (ROOT / folder).glob("*.yml")} == set(ledger.GROUPS[book]), "rows no page shows"
    assert {row["statement"] for row in ROWS if row["group"] == "paper"} == STATEMENTS


def test_what_nobody_knows_is_the_conjecture_and_its_figure_and_is_judged_by_no_law_of_ours():
    unknown = [row for row in loaded() if row["verdict"] == OPEN]
    assert [row["statement"] for row in unknown] == ["Conjecture", "Figure 4"]
    assert all(not row["parts"] and "recursion" not in row["measured"] for row in unknown)
    growth = next(row for row in loaded() if row["statement"] == "A recursion for the true iterates, its growth")
    assert growth["of"] == "ours" and {part["key"] for part in growth["parts"]} == {"exponents", "trend"}


def test_draws_say_nothing_of_a_law_that_is_younger():
    younger = [(row, part) for row in loaded() for part in row["parts"] if "then" in part]
    assert {row["statement"] for row, _ in younger} == {"A recursion for the true iterates, its growth"}
    for row, part in younger:
        assert claims.word(part) == row["verdict"] == "undecided" and not part["draws"]
        laws = [[one["law"] for one in numbers] for numbers in (part["numbers"], part["then"]["numbers"])]
        assert laws[0] != laws[1]
    page = (ROOT / "chapters" / "evidence.md").read_text(encoding="utf-8")
    assert all("|".join(["", *(f" {cell} " for cell in line), ""]) in page for line in ledger.anew(loaded(), ROOT))


def test_every_row_says_whose_it_is_and_stands_on_the_page_of_all():
    for book, others in (("", {"paper", "ours"}), ("companions", {"companion", "ours"})):
        rows = [row for row in loaded() if row["book"] == book]
        assert {row["of"] for row in rows} == others
        page = (ROOT / book / "chapters" / "all-statements.md").read_text(encoding="utf-8")
        assert len(re.findall(r"^\| .*class=\"verdict", page, re.M)) == len(rows)
        assert all(ledger.link(row, ROOT) in page for row in rows)
    assert all((row["of"] == "paper") == (row["group"] == "paper") for row in ROWS)


def test_the_page_is_short_and_folds_nothing():
    for book in ledger.LEDGERS:
        page = (ROOT / book / "chapters" / "evidence.md").read_text(encoding="utf-8")
        # the bars of a table are no words
        assert (
            len(re.sub(r"<[^>]*>|\||---", "", page).split()) <= 5000
            and "<details" not in page
            and "dropdown" not in page
        )


def test_the_hardest_tests_are_half_at_new_sizes_and_say_which_is_not_met():
    for book, least in (("", 12), ("companions", 5)):
        rows = [row for row in loaded() if row["book"] == book]
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
    for row in loaded():
        missed = [part for part in row["parts"] if claims.word(part) == claims.NOT_REPRODUCED and "repeats" not in row]
        ones = [ledger.furthest(part["numbers"]) or ledger.lowest(part["numbers"], "high") for part in missed]
        assert set(row.get("missed", {})) == {one["name"] for one in ones}, row["statement"]
        # a bound that is kept is no miss
        assert all(one["band"] or one["high"] < ledger.base(one) for one in ones), row["statement"]


def test_a_word_beside_a_proof_leads_to_its_row():
    page = (ROOT / "chapters" / "all-statements.md").read_text(encoding="utf-8")
    text = (ROOT / "chapters" / "evidence.md").read_text(encoding="utf-8")
    rows = re.findall(r'<a href="[./]*all-statements\.html#([\w-]+)"><span class="verdict [\w-]+">([\w ]+)<', text)
    assert len(rows) >= 5
    for place, word in rows:
        claim = next(row for row in loaded() if not row["book"] and ledger.place(row) == place)
        words = {claim["verdict"]} | {claims.word(part) for part in claim["parts"] if part["claim"]}
        assert page.count(f' id="{place}">{claim["verdict"]}<') == 1 and word in words


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
        rows = {row["statement"]: row for row in loaded() if row["book"] == book}
        with (ROOT / folder / "evidence.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        assert tuple(lines[0]) == ledger.COLUMNS
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
    for row in loaded():
        for part in row["parts"]:
            error, numbers = claims.noticed(part), part["numbers"]
            if error is None or part["word"] == claims.NOT_REPRODUCED:
                continue
            those = [one["scale"] for one in claims.decisive(numbers) if not one.get("guard")]
            scale = claims.RATIO if claims.RATIO in those else claims.DIFFERENCE
            for sign in (1, -1):
                moved = [off_by_twice(one, error, sign) if one["scale"] == scale else one for one in numbers]
                assert claims.equivalence(moved)["word"] != part["word"], (row["statement"], part["key"])


def test_the_line_that_runs_a_row_again_has_the_config_of_its_record():
    for row in ROWS:
        lines = [line for line in ledger.commands(row, ROOT) if " run " in line]
        wanted = []
        for record in ledger.stored(row, ROOT):
            experiment = studies.find_experiment(record["experiment"])
            wanted.append((experiment.name, config_of(experiment, record["config"])))
        for line in lines:
            words = line.split()[4:]
            experiment = studies.find_experiment(words[0])
            config = configure(experiment, words[2], dict(word.split("=", 1) for word in words[4:]))
            assert (words[0], config) in wanted, row["statement"]
        assert len(lines) == len(dict.fromkeys(name for name, _ in wanted)) or len(lines) > 1, row["statement"]


@pytest.mark.process
def test_the_judge_of_a_row_stands_where_its_link_leads(git):
    if git("rev-parse", "--is-shallow-repository") != "false\n":
        pytest.skip("no history here")
    for commit, file in {(ledger.commit_of(line), line["rule_file"].split(";")[0]) for line in ledger.log(ROOT)}:
        assert git("cat-file", "-t", f"{commit}:{file}") == "blob\n", (commit, file)


def test_a_settled_row_names_a_section_and_tests_that_exist():
    tests = {
        f"{file}::{node.name}"
        for file, path in FILES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    for row in SETTLED:
        chapter, _, anchor = row["chapter"].partition("#")
        text = (ROOT / row["book"] / "chapters" / chapter).read_text(encoding="utf-8")
        headings = {re.sub(r"\W+", "-", line.lower()).strip("-") for line in re.findall(r"^##+ (.*)$", text, re.M)}
        known = anchor in headings or f":label: {anchor}\n" in text or f"({anchor})=\n" in text
        assert anchor and known, f"{row['statement']}: {chapter} has no label and no heading {anchor!r}"
        assert not set(ledger.several(row["test"])) - tests, row["statement"]


def test_a_settled_rows_numbers_come_from_seeds_nobody_looked_at():
    settled = {row["statement"] for row in SETTLED}
    for row in (row for row in loaded() if row["statement"] in settled):
        for record in ledger.stored(row, ROOT):
            assert record["config"]["first_seed"] >= 1000, record["name"]
        assert row["verdict"] in set(WORDS) - {OPEN}, row["statement"]
        assert any(character.isdigit() for character in row["measured"]), f"{row['statement']}: no number"
        assert not {"{", "}", "\n"} & set(re.sub(r"\$[^$]+\$", "", row["measured"] + row["size"])), row["statement"]


def test_the_generated_pages_are_up_to_date():
    for path, text in ledger.pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make figures"


def test_a_number_that_is_not_in_the_record_cannot_be_shown():
    row = dict(SETTLED[0], show="{measured[slope][nobody]:.3f}")
    with pytest.raises(KeyError):
        ledger.evidence(row, ROOT)


def test_the_worst_of_several_verdicts_counts_from_whichever_record():
    row = dict(SETTLED[0], record=["optimality/confirm-alpha-1.5", "lemmas/confirm-alpha-1.5"], show="0", front="0")
    for name in ("size", "growth"):
        del row[name]
    assert ledger.evidence(dict(row, verdict=["haar", "inverse_sum"]), ROOT)["verdict"] == "undecided"
    assert ledger.evidence(dict(row, verdict=["haar", "1.lemma_12_sign"]), ROOT)["verdict"] == "consistency check"
    with pytest.raises(KeyError):
        ledger.evidence(dict(row, verdict="lemma_23"), ROOT)


def test_formulas_are_tex():
    for row in loaded():
        text = "; ".join(row[key] for key in ("claim", "measured", "size"))
        assert text.count("$") % 2 == 0 and "$$" not in text, row["statement"]
        plain = re.sub(r"\$[^$]+\$", "", text)
        assert not re.search(r"(?<!\w)(?:d|N|B|T|α|η|λ) [=≤≥] \d", plain), row["statement"]


def test_what_is_missed_or_undecided_stands_on_the_page_with_what_would_decide_it():
    for row in loaded():
        if row["verdict"] == "undecided" or (row["verdict"] == "not reproduced" and "repeats" not in row):
            page = (ROOT / row["book"] / "chapters" / "evidence.md").read_text(encoding="utf-8")
            heading = "## Undecided" if row["verdict"] == "undecided" else "## Where the prediction misses"
            section = page.partition(heading)[2].partition("\n## ")[0]
            why = f"{row['why']} | " * bool(row["why"])
            assert f"{ledger.link(row, ROOT)} | {row['of']} | {why}" in section
            assert ledger.deciding(row) or not row["why"]


def test_a_number_that_is_told_as_a_miss_is_one():
    parts = [part for row in loaded() if row["verdict"] == "not reproduced" for part in row["parts"]]
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
    assert all(name in of[""] for name in ("Effective dimension for SGD", "Lemma 16", "Siblings", "Conjecture"))
    for book, text in of.items():
        assert text in (ROOT / book / "chapters" / "evidence.md").read_text(encoding="utf-8")


def test_the_front_page_says_of_every_theorem_what_is_proved_counted_and_missing():
    rows = ledger.load(ROOT)
    named = [row for row in rows if row["statement"].startswith(("Theorem", "Corollary", "Conj"))]
    assert named == [row for row in rows if "short" in row]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for row in named:
        assert all(row[key] for key in ("proof", "number", "missing")), row["statement"]
        assert all(part["claim"] for part in row["parts"]) and len(row["claims"]) == len(row["parts"])
        assert len(ledger.outcomes(row)) == len(set(row["claims"].values()))
    section = readme.partition("## How well it holds")[2].partition("\n## ")[0]
    assert "\n".join(ledger.status(rows, "chapters/")) in section
    assert not [word for word in WORDS if word != OPEN and word in section.lower()], "verdicts stand in Evidence alone"
    page = (ROOT / "chapters" / "evidence.md").read_text(encoding="utf-8")
    assert "\n".join(ledger.status(rows)) in page


def test_no_exponent_stands_without_its_formula_and_its_limit():
    shown = {(row["statement"], one["of"]): one for row in loaded() for one in row.get("growth", [])}
    assert len(shown) >= 6
    for (name, _), one in shown.items():
        numbers = [one[key] for key in ("counted", "limit", *(() if name == "Conjecture" else ("formula", "there")))]
        assert all(re.fullmatch(r"\d\.\d+", number) for number in numbers), one
        if name != "Conjecture":
            counted, limit, formula, there = map(float, numbers)
            assert abs(counted - formula) <= 0.03 and abs(there - limit) <= 0.04


def of_law(law: str) -> list[dict]:
    """The lines of growth.csv that are of one law."""
    with (ROOT / growth.PATH).open(encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if line["law"] == law]


@pytest.mark.parametrize("law", growth.LAWS)
def test_the_table_of_laws_far_out_has_every_place(law):
    fields = "n_items", "low", "high", "step"
    assert [tuple(int(line[key]) for key in fields) for line in of_law(law)] == growth.places(law)


@pytest.mark.weekly
@pytest.mark.parametrize("law", growth.LAWS)
def test_every_law_far_out_is_solved_again(law):
    lines = of_law(law)
    assert growth.exponents(law) == pytest.approx([float(line["exponent"]) for line in lines], abs=2e-4)


def test_rows_are_counted_alike_everywhere():
    for book, folder in ledger.LEDGERS.items():
        rows = [row for row in loaded() if row["book"] == book]
        with (ROOT / folder / "evidence.csv").open(encoding="utf-8", newline="") as file:
            lines = {line["statement"]: line for line in csv.DictReader(file)}
        evidence, every, front = (
            (ROOT / book / name).read_text(encoding="utf-8")
            for name in ("chapters/evidence.md", "chapters/all-statements.md", "README.md")
        )
        assert "\n".join(ledger.totals(rows)) in front
        for of, (called, named) in ledger.WHOSE.items():
            number = sum(line["of"] == of for line in lines.values())
            assert number == sum(row["of"] == of for row in rows)
            cells = re.search(rf"^\| {number} of {named} \|(.*)\|$", front, re.M)
            assert bool(cells) == bool(number)
            if number:
                assert sum(map(int, cells[1].split("|"))) == number == len(re.findall(rf"\) {of} <a class=", every))
                table = evidence.partition("<!-- words")[2].partition("<!-- end")[0].strip().splitlines()
                column = [cell.strip() for cell in table[2].split("|")].index(called)
                assert sum(int(line.split("|")[column]) for line in table[4:]) == number


def test_why_a_row_is_undecided_follows_from_its_numbers():
    for row in loaded():
        assert bool(row["why"]) == (row["verdict"] == "undecided") and row["why"] in ("", *claims.WHYS)
    why = {row["statement"]: row["why"] for row in loaded()}
    assert {why[f"Lemma {number}"] for number in (21, 22, 23)} == {claims.OUT_OF_REACH}
    assert why["Sharp capacity"] == claims.TOO_FEW and why["Effective dimension for SGD"] == claims.LEANING


# An outsider's judge: from the text of the page and the columns of the file, with nothing of this project.


def number(text):
    return float(text or "nan")


def wide(line, looks):
    """The interval of a line, wide enough for all looks at once, on the scale of its band."""
    ends = [number(line[key]) for key in ("low", "measured", "high")]
    logs = line["scale"] == "ratio" and line["band"]
    low, mean, high = (math.exp(x) if logs else x for x in ends)
    if low != high:
        freedom = float(line["freedom"] or (float(line["draws"] or "inf") - 1))
        factor = student_t.ppf(1 - 0.025 / looks, freedom) / student_t.ppf(0.975, freedom)
        low, high = mean + (low - mean) * factor, mean + (high - mean) * factor
    return tuple((-math.inf if x <= 0 else math.log(x)) if logs else x for x in (low, high))


def is_inside(line, law):
    return all(abs(number(line[end]) - law) <= float(line["band"]) for end in ("low", "high"))


def is_outside(line, law, looks):
    low, high = wide(line, looks)
    return low - law > float(line["band"]) or high - law < -float(line["band"])


def holds(lines, key):
    those = [line for line in lines if line[key]]
    if not those:
        return "nothing"
    if any(is_outside(line, float(line[key]), len(those)) for line in those):
        return "missed"
    return "met" if all(is_inside(line, float(line[key])) for line in those if not line["guard"]) else "neither"


def outsiders_word(lines):
    few = not lines[0]["name"] or any(line["draws"] and int(line["draws"]) < 4 for line in lines)
    if lines[0]["kind"] == "check":
        broken = any(not line["measured"] or float(line["measured"]) > float(line["limit"]) for line in lines)
        return "not reproduced" if broken else "undecided" if few else "consistency check"
    if few:
        return "undecided"
    if lines[0]["kind"] == "order":
        if all(line["low"] and float(line["low"]) > float(line["limit"]) for line in lines):
            return "observed"
        below = any(wide(line, len(lines))[1] < float(line["limit"]) for line in lines)
        return "not reproduced" if below else "undecided"
    sizes, limit = holds(lines, "law"), holds(lines, "limit")
    main = limit if sizes == "nothing" else sizes
    if main == "missed":
        return "not reproduced"
    rivals = {}
    for line in lines:
        for rival in line["rivals"].split(";") if line["rivals"] else []:
            name, _, value = rival.rpartition("=")
            rivals.setdefault(name, []).append((line, float(value)))
    refused = [name for name, at in rivals.items() if any(is_outside(line, to, len(at)) for line, to in at)]
    far = lambda line, to: abs(to - float(line["law"] or line["limit"])) > float(line["band"])
    left = [name for name, at in rivals.items() if name not in refused and any(far(*one) for one in at)]
    if main != "met" or not refused or left:
        return "undecided"
    return "reproduced" if limit == "met" else "predicted"


@pytest.mark.parametrize("book", ledger.LEDGERS)
def test_an_outsider_finds_every_word_from_the_file_alone(book):
    with (ROOT / ledger.LEDGERS[book] / "evidence.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    order = ("consistency check", "reproduced", "predicted", "observed", "undecided", "not reproduced")
    parts = {}
    for line in lines:
        if line["word"] != OPEN:
            parts.setdefault(line["statement"], {}).setdefault((line["record"], line["part"]), []).append(line)
    assert len(parts) > 100
    for name, of in parts.items():
        worst = max(map(outsiders_word, of.values()), key=order.index)
        assert worst == next(iter(of.values()))[0]["word"], name
