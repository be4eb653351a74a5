"""The ledgers of the books: what their pages of evidence, tables of judged numbers and front pages should hold.

The one source is a folder of a book, a file a group of rows: chapters/ledger has every statement of the paper. A row
names whose statement it is, the chapter section that treats it, the test that holds it, and the stored
record that its numbers are read from: numbers, sizes, rivals and words are never typed, they come from the record.
"""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import growth
import laws
import yaml
from portable import configuration

from amembook.run import claims, studies
from amembook.run.base import plain
from amembook.run.claims import DIFFERENCE, base, off, reach, word
from amembook.run.records import judge
from amembook.run.reproduce import STATEMENTS

ROOT = Path(__file__).resolve().parents[1]
LEDGERS = {"": Path("chapters", "ledger"), "companions": Path("companions", "ledger")}
"""The folder of every book's rows."""
GROUPS = {"": ("paper", "beyond", "practice"), "companions": ("memory", "emergence", "sequences", "features")}
"""The files that a book's ledger has; each makes a section of the table of all statements."""
WHOSE = {
    "paper": ("the paper's", "the paper"),
    "companion": ("the companion papers'", "the companion papers"),
    "ours": ("ours", "this project"),
}
"""Whose statement a row may be, how a page says it, and whose it is on a front page."""
EASED = re.compile(
    "rule was (widened|loosened|lowered)|band was replaced|counted as seen|one standard for every word|its word was"
)
"""What the log says of a rule that was made easier, of seeds that a rule was opened to, and of a word that rose."""
COLUMNS = (
    "statement", "of", "word", "measured", "low", "high", "law", "limit", "band", "draws", "refused", "surviving",
    "rule_commit", "record_commit", "why", "record", "part", "kind", "name", "scale", "guard", "freedom", "rivals",
)  # fmt: skip
"""Of evidence.csv: a line a judged number, one for a row without any; of ratios the logarithms, as the band is."""


def rows(root: Path, book: str = "") -> list[dict]:
    """The rows of a book as they are written, each with its `book` and its `group`: the name of its file."""
    texts = {name: (root / LEDGERS[book] / f"{name}.yml").read_text(encoding="utf-8") for name in GROUPS[book]}
    # in C: Python's own loader takes seconds
    read = {name: yaml.load(text, yaml.CSafeLoader) for name, text in texts.items()}
    return [row | {"book": book, "group": name} for name, listed in read.items() for row in listed]


def load(root: Path, book: str = "") -> list[dict]:
    """The rows of a book, each with what its records say."""
    return [row | evidence(row, root) for row in rows(root, book)]


def evidence(row: dict, root: Path) -> dict:
    """What the records say about a row: `measured`, `number`, `size`, the worst of its words, `why`, and `parts`.

    Fields of the first record stand in `show`, `front` and `size` by name, those of others as `{1[measured]…}`. A part
    is a verdict with its `key`, what `claims` call it, the name of its `record` and that one's `config` and `seconds`.
    """
    names, records = several(row["record"]), [solved_anew(record, root) for record in stored(row, root)]
    is_open = row["verdict"] == claims.OPEN
    keys = [] if is_open else [re.fullmatch(r"(?:(\d+)\.)?(.+)", key).groups() for key in several(row["verdict"])]
    parts = [
        records[int(n or 0)]["verdicts"][key]
        | {"key": key, "record": names[int(n or 0)]}
        | {"claim": row.get("claims", {}).get(f"{n}.{key}" if n else key, "")}
        | {name: records[int(n or 0)][name] for name in ("config", "seconds")}
        for n, key in keys
    ]
    fill = lambda text: filled(text, records)
    sizes = [fill(row["size"])] if "size" in row else [size(record["config"]) for record in records]
    return {
        "measured": fill(row["show"]),
        "number": fill(row.get("front", "")),
        "missing": fill(row.get("missing", "")),
        "growth": [{key: fill(text) for key, text in one.items()} | far(one, root) for one in row.get("growth", [])],
        "size": "; ".join(dict.fromkeys(sizes)),
        "verdict": claims.OPEN if is_open else claims.worst(parts),
        "why": reason(parts) if not is_open and claims.worst(parts) == claims.UNDECIDED else "",
        "parts": parts,
    }


def reason(parts: list[dict]) -> str:
    """The worst reason of several verdicts to be undecided, nothing if none is."""
    return max(map(claims.why, parts), key=("", *claims.WHYS).index)


def far(one: dict, root: Path) -> dict[str, str]:
    """Where a law's growth was solved far out, and its exponent there; dashes for a statement without a law."""
    if "law" not in one:
        return {"far": "–", "there": "–"}
    name, _, step = one["law"].partition(", step ")
    line = growth.stored(root)[name, int(step or 1)]
    return {"far": f"$d$ = {int(line['high']):,}", "there": f"{float(line['exponent']):.3f}"}


def stored(row: dict, root: Path) -> list[dict]:
    """A row's records."""
    folder = root / "amembook" / "records"
    read = lambda name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return [read(name) | {"name": name} for name in several(row["record"])]


def solved_anew(record: dict, root: Path) -> dict:
    """The record, or where its law was changed after its draws, what these say of the law that ships: nothing.

    It gains `anew`, that law. A verdict that it changes has the numbers of the new one, as of draws that were seen
    before their rule, and keeps the old one as `then`.
    """
    anew = laws.stored(root, record["name"])
    if not anew:
        return record
    predicted = record["predicted"] | anew["predicted"]
    judged = judge(record | {"predicted": predicted}, studies.find_experiment(record["experiment"]))["verdicts"]
    then = record["verdicts"]
    verdicts = {
        key: then[key] if one == then[key] else claims.seen(one) | {"then": then[key], "commit": anew["commit"]}
        for key, one in judged.items()
    }
    return record | {"verdicts": verdicts, "anew": anew["predicted"]}


def filled(text: str, records: list[dict], fill=str.format) -> str:
    """A row's text with the records' numbers, and the minus that a page has."""
    return re.sub(r"(?<![\w{])-(?=\d)", "−", fill(text, *records, **records[0]))


def several(value: str | list[str]) -> list[str]:
    """One name or a list of them, as a list."""
    return value if isinstance(value, list) else [value]


def size(config: dict) -> str:
    """The sizes in a config, in words."""
    named = {"alpha": r"$\alpha$", "alphas": r"$\alpha$", "dims": "$d$", "n_items": "$N$", "seeds": "seeds"}
    return "; ".join(f"{symbol} = {str(config[name]).strip('[]')}" for name, symbol in named.items() if name in config)


def log(root: Path) -> list[dict]:
    """What came first, a rule or its record: the lines of chapters/ledger/log.csv."""
    with (root / "chapters" / "ledger" / "log.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# A judged number, and what is said of it.


def worst(numbers: list[dict]) -> dict | None:
    """The number whose interval reaches furthest from its law, in units of its band."""
    gap = lambda one: max(abs(off(one[end], base(one), one["scale"])) for end in ("low", "high")) / reach(one)
    return max((one for one in claims.decisive(numbers) if one["band"]), key=gap, default=None)


def furthest(numbers: list[dict]) -> dict | None:
    """Of the numbers that are missed the one whose whole interval lies furthest from its law, in units of its band."""
    known = [one for one in claims.decisive(numbers) if one["band"]]
    away = [one for one in known if claims.is_missed(one, base(one), len(known))]
    gap = lambda one: min(abs(off(one[end], base(one), one["scale"])) for end in ("low", "high")) / reach(one)
    return max(away, key=gap, default=None)


def lowest(numbers: list[dict], end: str) -> dict | None:
    """Of numbers that must lie above their bounds the one with this end of its interval furthest below."""
    return min(numbers, key=lambda one: one[end] - base(one), default=None)


def judged(verdict: dict) -> list[dict]:
    """The numbers that must lie inside their bands, named after the verdict as well."""
    key = verdict["key"].replace("_", " ")
    return [one | {"name": f"{key}, {one['name']}"} for one in verdict["numbers"] if not one.get("guard")]


def fails(numbers: list[dict]) -> dict[str, float]:
    """By how many standard errors a rival fails at the number that tells it best, the nearest rival first."""
    errors_of = {}
    for one in numbers:
        for name, value in one["rivals"].items():
            gap, width = (off(one["measured"], to, one["scale"]) for to in (value, one["low"]))
            errors = abs(gap) * claims.multiplier(one["draws"]) / width if width else math.inf
            errors_of[name] = max(errors_of.get(name, 0.0), errors)
    return dict(sorted(errors_of.items(), key=lambda item: item[1]))


def shown(value: float | None) -> str:
    """A number as a table has it, four digits at most."""
    if value is None:
        return ""
    form = ",.0f" if abs(value) >= 1000 else ".4g" if abs(value) >= 1e-3 or not value else ".1e"
    return f"{value:{form}}".replace("-", "−")


def noticed(verdict: dict) -> str:
    """The error of its law that a verdict would notice: a share, or where only differences are judged a number."""
    shares = any(one["scale"] == claims.RATIO for one in claims.decisive(verdict["numbers"]) if not one.get("guard"))
    value = claims.noticed(verdict)
    return shown(value) if value is None or not shares else f"{value:.1%}".replace("%", "\u00a0%")


def interval(one: dict) -> str:
    """A number with its 95 % interval."""
    ends = f" [{shown(one['low'])}, {shown(one['high'])}]" if one["low"] != one["high"] else ""
    return shown(one["measured"]) + ends


def deviation(one: dict) -> str:
    """How far a number is from its law: a percentage of it, or a difference."""
    gap = one["measured"] - base(one)
    return (f"{100 * gap / base(one):+.1f} %" if one["scale"] == claims.RATIO else f"{gap:+.3f}").replace("-", "−")


def rivals(names: list[str]) -> str:
    """Rival laws by name; some are only called by the α that they belong to."""
    return ", ".join(f"the exponent at {name}" if re.fullmatch(r"α [+−] 1/\d", name) else name for name in names)


def part_of(verdict: dict, row: dict) -> str:
    """Which part of a row of several a verdict is, to stand before what is said of it."""
    return f"{verdict['key'].replace('_', ' ')}: " if len(row["parts"]) > 1 else ""


def deciding(row: dict) -> str:
    """What would decide the parts of an undecided row, those first that have its reason; two of them at most."""
    doubtful = [part for part in row["parts"] if claims.why(part)]
    doubtful.sort(key=lambda part: -claims.WHYS.index(claims.why(part)))
    said = list(dict.fromkeys(part_of(part, row) + doubt(part, row) for part in doubtful))
    return "; ".join([*said[:2], *([f"and {len(said) - 2} more"] if said[2:] else [])])


def doubt(verdict: dict, row: dict) -> str:
    """Why a verdict is undecided, at the number that keeps it so."""
    kind, draws = claims.why(verdict), verdict["draws"]
    if kind == claims.OUT_OF_REACH:
        return row["decides"]
    if kind == claims.RIVAL:
        return f"sizes that refuse {rivals(claims.survivors(verdict)) or 'a rival law'}"
    if "then" in verdict:
        return "draws that are younger than the law"
    if draws is not None and draws < claims.FEWEST_DRAWS:
        return f"{draws} draws, {claims.FEWEST_DRAWS} are asked for"
    if kind == claims.LEANING:
        one = max(claims.decisive(verdict["numbers"]), key=beyond)
        return f"{one['name']} {shown(one['measured'])} of {shown(base(one))}"
    count, one, rival = most_draws(verdict)
    shown_of = f"{one['name']}{f', to refuse {rivals([rival])}' if rival else ''}"
    if count >= MOST_DRAWS:
        return f"{shown_of}: at the edge of its band"
    return f"{shown_of}: {count:,.0f} draws, {verdict['seconds'] * count / draws / 60:,.0f} minutes"


MOST_DRAWS = 10_000
"""A mean that needs more lies at the edge of its band."""


def beyond(one: dict) -> float:
    """By how many of its bands a mean lies outside its band, or by how much below its bound."""
    if one.get("guard") and not claims.is_missed(one, base(one), 1):
        return -math.inf
    if not one["band"]:
        return base(one) - one["measured"]
    return abs(off(one["measured"], base(one), one["scale"])) / reach(one)


def most_draws(verdict: dict) -> tuple[float, dict, str]:
    """The draws at which intervals as they shrink would be inside, above their bounds, or refuse every rival: the most
    of any number, that number, and the rival if it is one.
    """
    ways_out = []
    for one in claims.decisive(verdict["numbers"]):
        if one["low"] is None or not one["draws"] or one.get("guard"):
            continue
        low, mean, high = (off(one[key], base(one), one["scale"] if one["band"] else DIFFERENCE) for key in ENDS)
        left = reach(one) - abs(mean) if one["band"] else mean
        ways_out.append((needed((high - low) / 2, left, one["draws"]), one, ""))
    for name in [name for name in verdict["surviving"] if name not in verdict["near"]]:
        ways = []
        for one in (one for one in verdict["numbers"] if name in one["rivals"] and one["draws"] and one["low"]):
            low, mean, high = (off(one[key], one["rivals"][name], one["scale"]) for key in ENDS)
            ways.append((needed((high - low) / 2, abs(mean) - reach(one), one["draws"]), one, name))
        ways_out += [min(ways, key=lambda way: way[0])] if ways else []
    return max(ways_out, key=lambda way: way[0], default=(math.inf, verdict["numbers"][0], ""))


ENDS = "low", "measured", "high"


def needed(half: float, left: float, draws: int) -> float:
    """The draws at which an interval of this half width shrinks to what is left for it."""
    return draws * (half / left) ** 2 if left > 0 and math.isfinite(half) else math.inf


# The pages.


def table(head: str, lines: list[list[str]]) -> list[str]:
    """A Markdown table, its head with bars between; a bar inside a cell would end it."""
    cells = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    return [f"| {line} |" for line in (head, " | ".join(["---"] * (head.count("|") + 1)), *cells)] + [""]


def badge(verdict: str, at: str = "") -> str:
    """A verdict as a coloured word, the place `at` of its page; tools/page_repairs.py adds what the word means."""
    place = f' id="{at}"' if at else ""
    return f'<span class="verdict {verdict.replace(" ", "-")}"{place}>{verdict}</span>'


def place(row: dict) -> str:
    """The anchor of a row on the page of all statements."""
    return "row-" + re.sub(r"\W+", "-", row["statement"].lower()).strip("-")


def leading(row: dict, folder: str = "") -> str:
    """A row's word, which leads to the row; `folder` leads to that of the page of all statements."""
    return f'<a href="{folder}all-statements.html#{place(row)}">{badge(row["verdict"])}</a>'


def link(row: dict, root: Path) -> str:
    """A link to the place that treats a row: to its label if it is one, else to its page."""
    chapter, _, anchor = row["chapter"].partition("#")
    text = (root / row["book"] / "chapters" / chapter).read_text(encoding="utf-8")
    for mark, role in ((f":label: {anchor}\n", "prf:ref"), (f"({anchor})=\n", "ref")):
        if mark in text:
            return f"{{{role}}}`{row['statement']} <{anchor}>`"
    return f"[{row['statement']}]({chapter})"


def regions(rows: list[dict], root: Path) -> dict[str, list[str]]:
    """What a book's pages hold between their marks, by name."""
    whose = [name for name in WHOSE if any(row["of"] == name for row in rows)]
    counts = {of: tally(row for row in rows if row["of"] == of) for of in whose}
    some = [one for one in claims.WORDS if any(counts[of][one] for of in whose)]
    words = [[badge(one), *(str(counts[of][one]) for of in whose)] for one in some]
    doubts = {of: Counter(row["why"] for row in rows if row["of"] == of and row["why"]) for of in whose}
    undecided = [row for row in rows if row["verdict"] == claims.UNDECIDED]
    as_others = lambda row: f"as {' and '.join(several(row['repeats']))}" if "repeats" in row else deciding(row)
    again = [f"- {link(row, root)}: {' and '.join(several(row['repeats']))}" for row in rows if "repeats" in row]
    counted = [row for row in rows if "repeats" not in row]
    return {
        "status": status(rows, "chapters/"),
        "here": status(rows),
        "totals": totals(rows),
        "all": [line for name in GROUPS[rows[0]["book"]] for line in group(rows, name, root)],
        "hardest": table("test | predicted | measured, 95 % | off by | draws | nearest rival", hardest(rows, root)),
        "words": table(f"word | {' | '.join(WHOSE[of][0] for of in whose)}", words),
        "whys": table(
            f"undecided | {' | '.join(WHOSE[of][0] for of in whose)}",
            [[one, *(str(doubts[of][one]) for of in whose)] for one in claims.WHYS],
        ),
        "missed": table("statement | whose | claimed | measured, 95 % | law or bound | off by", missed(counted, root)),
        "undecided": table(
            "statement | whose | why | what would decide it",
            [[link(row, root), row["of"], row["why"], as_others(row)] for row in undecided],
        ),
        "limits": table("statement | measured, 95 % | law for these sizes | limit", limits(counted, root)),
        "dropped": table("draws | why they were set aside | statements", dropped(rows, root)),
        "eased": eased(rows, root),
        "anew": table("statement | counted, 95 % | law then | law now | code of", anew(rows, root)),
        "repeats": again,
        "cells": cells(rows, root),
        "claims": table(
            "statement | claim by claim",
            [[link(row, root), "; ".join(outcomes(row)) or leading(row)] for row in rows if "short" in row],
        ),
    }


def by_claim(row: dict) -> dict[str, list[dict]]:
    """A row's verdicts by what its `claims` call them, several of one name together."""
    by_name = {}
    for part in row["parts"]:
        by_name.setdefault(part["claim"], []).append(part)
    return by_name


def outcomes(row: dict) -> list[str]:
    """The word of each claim of a row, and why it is undecided."""
    said = []
    for name, parts in by_claim(row).items():
        word_of = claims.worst(parts)
        why = reason(parts) if word_of == claims.UNDECIDED else ""
        address = f'<a href="all-statements.html#{place(row)}">{badge(word_of)}</a>'
        said.append(f"{name}: {address}{f' ({why})' if why else ''}")
    return said


def hardest(rows: list[dict], root: Path) -> list[list[str]]:
    """The tests that rows name as `hard`, each by its worst number; those that notice the least error first."""
    lines = []
    for row in rows:
        for key in several(row.get("hard", [])):
            verdict = next(part for part in row["parts"] if part["key"] == key)
            one, many = worst(judged(verdict)), len(judged(verdict))
            rival, errors = next(item for item in fails(verdict["numbers"]).items() if item[0] in verdict["refused"])
            name = f"{link(row, root)}{' ★' * ('fresh' in row)}: {one['name']}{f', worst of {many}' * (many > 1)}"
            away = deviation(one) + f", {word(verdict)}" * (word(verdict) == claims.UNDECIDED)
            cells = [name, shown(base(one)), interval(one), away, shown(verdict["draws"]) or "exact"]
            left = f"; not {rivals(verdict['surviving'])}" if verdict["surviving"] else ""
            far = f", by {errors:.0f} errors" if errors < math.inf else ""
            lines.append((verdict["power"], [*cells, f"{rivals([rival])}{far}{left}".replace("_", " ")]))
    return [cells for _, cells in sorted(lines)]


def missed(rows: list[dict], root: Path) -> list[list[str]]:
    """Of each row that is not reproduced the verdicts that miss, each by its furthest number."""
    lines = []
    for row in (row for row in rows if row["verdict"] == claims.NOT_REPRODUCED):
        first = [link(row, root), row["of"], row["claim"]]
        records = len({part["record"] for part in row["parts"]})
        for part in (part for part in row["parts"] if word(part) == claims.NOT_REPRODUCED):
            one, config = furthest(part["numbers"]) or lowest(part["numbers"], "high"), part["config"]
            where = f" (`{part['record']}`)" if records > 1 else ""
            if records > 1 and {"alpha", "dims"} <= {*config}:
                dims = f"$d$ {'to' if config['dims'][1:] else '='} {max(config['dims'])}"
                where = f", $\\alpha$ = {config['alpha']}, {dims}"
            measured = f"{row.get('missed', {}).get(one['name'], one['name'])}{where}: {interval(one)}"
            lines.append([*first, measured, shown(base(one)), deviation(one)])
            first = ["", "", ""]
    return lines


def anew(rows: list[dict], root: Path) -> list[list[str]]:
    """Of each verdict whose law was changed after its draws the number that lay furthest from the old one."""
    lines = []
    for row in rows:
        for part in (part for part in row["parts"] if "then" in part):
            one = furthest(part["then"]["numbers"]) or worst(part["then"]["numbers"])
            now = next(other for other in part["numbers"] if other["name"] == one["name"])
            named = f"{link(row, root)}: {part_of(part, row)}{one['name']} (`{part['record']}`)"
            missed = ", missed" * (word(part["then"]) == claims.NOT_REPRODUCED)
            lines.append(
                [named, interval(one), f"{shown(base(one))}{missed}", shown(base(now)), f"`{part['commit'][:12]}`"]
            )
    return lines


def limits(rows: list[dict], root: Path) -> list[list[str]]:
    """Of each predicted row the number furthest from its limit, where that is not met."""
    lines = []
    for row in (row for row in rows if row["verdict"] == claims.PREDICTED):
        numbers = [one | {"law": one["limit"], "sizes": one["law"]} for part in row["parts"] for one in judged(part)]
        if one := worst(numbers):
            lines.append([f"{link(row, root)}: {one['name']}", interval(one), shown(one["sizes"]), shown(one["limit"])])
    return lines


def dropped(rows: list[dict], root: Path) -> list[list[str]]:
    """The first attempts that were never stored, as the log has them."""
    named, statements_of = {row["statement"] for row in rows}, {}
    for line in log(root):
        for attempt, why in zip(line["dropped"].split(";"), line["why"].split(";"), strict=False):
            if why.endswith(". Never stored") and line["statement"] in named:
                key = attempt.split(" ")[1].replace("-", "–"), why.removesuffix(". Never stored")
                statements_of.setdefault(key, {})[line["statement"]] = None
    return [[*key, "; ".join(statements)] for key, statements in statements_of.items()]


def eased(rows: list[dict], root: Path) -> list[str]:
    """Why a rule was made easier after draws had been seen, and for which statements, as the log has it."""
    named, statements_of = {row["statement"] for row in rows}, {}
    for line in log(root):
        for why in line["why"].split(";"):
            if EASED.search(why) and line["statement"] in named:
                said = re.sub(r" \([0-9a-f]{12}\)", "", why.partition(". Kept")[0])
                statements_of.setdefault(said, {})[line["statement"]] = None
    return [f"- {', '.join(statements)}: {why}." for why, statements in statements_of.items()]


def group(rows: list[dict], name: str, root: Path) -> list[str]:
    """A group of rows in a table, for the style sheet to lay out and assets/book.js to filter."""
    lines, rows = [], [row for row in rows if row["group"] == name]
    logged = {(line["statement"], line["record"]): line for line in log(root)}
    for row in rows:
        verdicts = row["parts"]
        refused = list(dict.fromkeys(name for verdict in verdicts for name in verdict["refused"]))
        power = max(verdicts, key=lambda one: claims.noticed(one) or 0, default=None)
        judged = {
            "refuses": rivals(refused),
            "not": "; ".join(part_of(one, row) + rivals(one["surviving"]) for one in verdicts if one["surviving"]),
            "would notice a law off by": noticed(power) if power else "",
            "again": " and ".join(several(row.get("repeats", []))),
            "sizes": row["size"],
            "records": "; ".join(sources(logged[row["statement"], name]) for name in several(row["record"])),
            "run it": " ".join(f"`{line}`" for line in commands(row, root)),
        }
        how = ". ".join(f"*{key}* {value}" for key, value in judged.items() if value)
        text = f"{row['claim']}. *{'Measured' if verdicts else 'Seen'}*: {row['measured']}."
        mark = f'<a class="row-link" href="#{place(row)}" aria-label="Link to this row">¶</a>'
        why = f" ({row['why']})" if row["why"] else ""
        word = f"[{badge(row['verdict'], place(row))}](sec-ev-words){why} {row['of']} {mark}"
        lines.append([link(row, root), word, text, how])
    rows_of = table("statement | word, whose | claimed, measured | how it is judged", lines)
    counts = tally(rows)
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in claims.WORDS if counts[verdict])
    return [f"## {name.capitalize()}", "", f"{said}.", "", ":::{container} ledger", "", *rows_of, ":::", ""]


def tally(rows: Iterable[dict]) -> Counter:
    """How many rows have each word: every row counts, those too that have the measurements of others."""
    return Counter(row["verdict"] for row in rows)


def cells(rows: list[dict], root: Path) -> list[str]:
    """The cells of a book that draw and judge a statement themselves, by the label above each, `cell-theorem-3`."""
    named, lines = {row["statement"].lower(): row for row in rows}, []
    folder = root / rows[0]["book"]
    for page in re.findall(r"(?:root|file): (\S+)", (folder / "_toc.yml").read_text(encoding="utf-8")):
        text = (folder / f"{page}.md").read_text(encoding="utf-8")
        title = re.search("^# (.+)$", text, re.M)
        for label in re.findall(r"^\((cell-[\w-]+)\)=$", text, re.M):
            name = label.removeprefix("cell-").replace("-", " ")
            said = link(named[name], root) if name in named else name.capitalize()
            lines.append([said, f"{{ref}}`{title[1]} <{label}>`"])
    return table("statement | its cell", lines) if lines else []


def status(rows: list[dict], folder: str = "") -> list[str]:
    """The theorems in two tables: what is proved, counted and missing, and how counts grow. `folder` has the pages."""
    named = [row for row in rows if "short" in row]
    lines = [
        [
            f"**{row['statement']}** {row['short']}",
            row["proof"].replace("](", f"]({folder}"),
            "; ".join(agreeing(row)),
            row["number"],
            row["missing"],
        ]
        for row in named
    ]
    keys = "counted", "formula", "far", "there", "limit"
    grown = [[f"{row['statement']}, {one['of']}", *map(one.get, keys)] for row in named for one in row["growth"]]
    return [
        *table("statement | proved | formula inside the interval | counted of formula | still missing", lines),
        *table("exponent of $d$ | counted | formula | formula, far out | there | theorem's limit", grown),
    ]


def agreeing(row: dict) -> list[str]:
    """Of how many judged numbers of each claim the formula lies inside the 95 % interval."""
    shares = {}
    for name, parts in by_claim(row).items():
        good, number = map(sum, zip(*map(claims.inside, parts), strict=True))
        if number:
            shares[name] = f"{good} of {number}"
    return [f"{name} {shown_of}" if len(shares) > 1 else shown_of for name, shown_of in shares.items()]


def totals(rows: list[dict]) -> list[str]:
    """How all statements of a book stand, in plain words: a line for whose they are."""
    kinds = {
        "agree with their formula": (claims.REPRODUCED, claims.PREDICTED),
        "an order is seen": (claims.OBSERVED,),
        "identity or bound, checked": (claims.CONSISTENT,),
        "not decided": (claims.UNDECIDED,),
        "miss": (claims.NOT_REPRODUCED,),
        "open": (claims.OPEN,),
    }
    lines = []
    for of in (of for of in WHOSE if any(row["of"] == of for row in rows)):
        count = tally(row for row in rows if row["of"] == of)
        cells = [sum(count[word] for word in words) for words in kinds.values()]
        lines.append([f"{count.total()} of {WHOSE[of][1]}", *map(str, cells)])
    return table(" | ".join(["statements", *kinds]), lines)


def headline(root: Path) -> list[str]:
    """How well the counts of one step are predicted, in two sentences, from the record of the sharp predictions."""
    record = json.loads((root / "amembook" / "records" / "sharp" / "confirm-grid.json").read_text(encoding="utf-8"))
    config, worst, number = record["config"], record["measured"]["worst"], record["measured"]["number"]
    maps = [name for name in worst if name != "sgd"]
    grid = (
        f"{len(config['alphas'])} power laws, d = {config['dims'][0]}…{config['dims'][-1]}, "
        f"N = {config['n_items'][0]:,} and {config['n_items'][1]:,}, population and minibatches"
    )
    return [
        f"**Nothing is fitted.** {grid}; Muon, smoothed Muon and Newton: of {sum(number[name] for name in maps)} mean "
        f"counts the furthest is {max(worst[name] for name in maps):.1%} from its prediction. SGD's, at "
        f"d = {config['sgd_dims'][0]:,} to {config['sgd_dims'][-1]:,}, are {worst['sgd']:.1%} off at most "
        f"(standard errors up to {record['measured']['noise']['sgd']:.1%}). [How it is done](chapters/sharp.md)."
    ]


FILES = f"{configuration(ROOT, '')['repository']['url']}/blob"


def sources(line: dict) -> str:
    """Of a line of the log: its record, the seeds, and the judge's file as it was when its rule was last changed."""
    rule, commit = line["rule_file"].split(";")[0], commit_of(line)
    record = f"[{line['record']}]({FILES}/main/amembook/records/{line['record']}.json)"
    return f"{record}, seeds {line['seeds'].replace('-', '–').replace(';', ', ')}, [judge]({FILES}/{commit}/{rule})"


def commit_of(line: dict) -> str:
    """The commit that has a line's rule: its own, or that by which it and the record entered this history together."""
    together = re.search("entered this history together, in ([0-9a-f]{12})", line["why"])
    return together[1] if together else line["rule_commit"]


def commands(row: dict, root: Path) -> list[str]:
    """What draws a row's records again: the command that needs minutes where there is one, and the runs themselves."""
    lines = [f'python -m amembook reproduce "{row["statement"]}" --seed 12345'] * (row["statement"] in STATEMENTS)
    for record in stored(row, root):
        experiment = studies.find_experiment(record["experiment"])
        config = plain(experiment.added | record["config"])
        changes = {}
        for name, profile in experiment.profiles.items():
            own = plain(asdict(profile))
            changes[name] = {
                key: config.get(key, value) for key, value in own.items() if config.get(key, value) != value
            }
        profile = min(changes, key=lambda name: len(changes[name]))
        text = lambda value: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        settings = [f"{key}={text(value)}" for key, value in changes[profile].items()]
        line = f"python -m amembook run {record['experiment']} --profile {profile}"
        lines.append(" ".join([line, *(["--set", *settings] if settings else [])]))
    return list(dict.fromkeys(lines))


def csv_text(rows: list[dict], root: Path) -> str:
    """A book's evidence.csv."""
    commits = {(line["statement"], line["record"]): [line["rule_commit"], line["record_commit"]] for line in log(root)}
    nothing = {"record": "", "numbers": [], "draws": None, "refused": [], "surviving": [], "key": "", "kind": ""}
    lines = [COLUMNS]
    for row in rows:
        for verdict in row["parts"] or [nothing]:
            end = [";".join(verdict[kind]) for kind in ("refused", "surviving")]
            end += commits.get((row["statement"], verdict["record"]), ["", ""]) if row["parts"] else ["", ""]
            end += [row["why"], verdict["record"], verdict["key"], verdict["kind"]]
            for one in verdict["numbers"] or [{"draws": verdict["draws"]}]:
                values = [scaled(one, one.get(key), key) for key in ("measured", "low", "high", "law", "limit", "band")]
                named = [one.get("name", ""), one.get("scale", ""), "yes" * one.get("guard", False)]
                others = ";".join(f"{name}={scaled(one, value)}" for name, value in one.get("rivals", {}).items())
                own = [*named, one.get("freedom", ""), others]
                lines.append([row["statement"], row["of"], row["verdict"], *values, one["draws"], *end, *own])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def scaled(one: dict, value: float | None, key: str = "") -> str:
    """A value of a judged number on the scale on which its band is symmetric: of a ratio the logarithm."""
    if value is None:
        return ""
    if one["band"] is not None and one["scale"] == claims.RATIO:
        value = reach(one) if key == "band" else math.log(value) if value > 0 else -math.inf
    return f"{value:.12g}"


def marked(text: str, texts: dict[str, list[str]]) -> str:
    """A page with what stands between its marks brought up to date; `KeyError` for a mark of another name."""
    marks = r"(<!-- (\w+): tools/\w+.py writes what follows -->\n).*?(<!-- end of \2 -->)"
    fill = lambda mark: "\n".join([mark[1], *texts[mark[2]]]).rstrip() + f"\n\n{mark[3]}"
    return re.sub(marks, fill, text, flags=re.S)


def pages(root: Path) -> dict[Path, str]:
    """What the generated files should hold."""
    contents = {}
    for book, folder in LEDGERS.items():
        rows = load(root, book)
        texts = regions(rows, root) | {"headline": headline(root)}
        for name in ("README.md", "chapters/evidence.md", "chapters/all-statements.md"):
            path = root / book / name
            contents[path] = marked(path.read_text(encoding="utf-8"), texts)
        contents[root / folder / "evidence.csv"] = csv_text(rows, root)
    return contents
