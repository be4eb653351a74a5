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
from pathlib import Path

import yaml

from amembook.run import claims
from amembook.run.claims import base, off, reach, word

ROOT = Path(__file__).resolve().parents[1]
LEDGERS = {"": Path("chapters", "ledger"), "companions": Path("companions", "ledger")}
"""The folder of every book's rows."""
GROUPS = {"": ("paper", "beyond", "practice"), "companions": ("memory", "emergence", "sequences", "features")}
"""The files that a book's ledger has; each makes a section of the table of all statements."""
WHOSE = {
    "paper": ("the paper's", "propositions, lemmas and assumptions of the paper"),
    "companion": ("the companion papers'", "statements of the companion papers"),
    "ours": ("ours", "statements of this project"),
}
"""Whose statement a row may be, how a page says it, and what a front page calls those that it only counts."""
FIGURES = "figures of the paper"
EASED = re.compile("rule was (widened|loosened|lowered)|band was replaced")
"""What the log says of a rule that was made easier."""
COLUMNS = "statement of word measured low high law limit band draws refused surviving rule_commit record_commit".split()
"""Of evidence.csv: a line a judged number, one for a row without any; of ratios the logarithms, as the band is."""


def rows(root: Path, book: str = "") -> list[dict]:
    """The rows of a book as they are written, each with its `book` and its `group`: the name of its file."""
    texts = {name: (root / LEDGERS[book] / f"{name}.yml").read_text(encoding="utf-8") for name in GROUPS[book]}
    # in C: Python's own loader takes seconds
    read = {name: yaml.load(text, yaml.CSafeLoader) for name, text in texts.items()}
    return [row | {"book": book, "group": name} for name, found in read.items() for row in found]


def load(root: Path, book: str = "") -> list[dict]:
    """The rows of a book, each with what its records say."""
    return [row | evidence(row, root) for row in rows(root, book)]


def evidence(row: dict, root: Path) -> dict:
    """What the records say about a row: `measured`, `number`, `size`, the worst of its words, and `parts`.

    Fields of the first record stand in `show`, `front` and `size` by name, those of others as `{1[measured]…}`. A part
    is a verdict with its `key`, the name of its `record` and the record's `config`.
    """
    names, records = several(row["record"]), stored(row, root)
    is_open = row["verdict"] == claims.OPEN
    keys = [] if is_open else [re.fullmatch(r"(?:(\d+)\.)?(.+)", key).groups() for key in several(row["verdict"])]
    parts = [
        records[int(n or 0)]["verdicts"][key]
        | {"key": key, "record": names[int(n or 0)], "config": records[int(n or 0)]["config"]}
        for n, key in keys
    ]
    fill = lambda text: filled(text, records)
    sizes = [fill(row["size"])] if "size" in row else [size(record["config"]) for record in records]
    return {
        "measured": fill(row["show"]),
        "number": fill(row.get("front", "")),
        "because": fill(row.get("because", "")),
        "size": "; ".join(dict.fromkeys(sizes)),
        "verdict": claims.OPEN if is_open else claims.worst(parts),
        "parts": parts,
    }


def stored(row: dict, root: Path) -> list[dict]:
    """A row's records."""
    folder = root / "amembook" / "records"
    return [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in several(row["record"])]


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


# A judged number, and what is told of it.


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
    found = {}
    for one in numbers:
        for name, value in one["rivals"].items():
            gap, width = (off(one["measured"], to, one["scale"]) for to in (value, one["low"]))
            errors = abs(gap) * claims.multiplier(one["draws"]) / width if width else math.inf
            found[name] = max(found.get(name, 0.0), errors)
    return dict(sorted(found.items(), key=lambda item: item[1]))


def told(value: float | None) -> str:
    """A number as a table has it, four digits at most."""
    if value is None:
        return ""
    form = ",.0f" if abs(value) >= 1000 else ".4g" if abs(value) >= 1e-3 or not value else ".1e"
    return f"{value:{form}}".replace("-", "−")


def noticed(verdict: dict) -> str:
    """The error of its law that a verdict would notice: a share, or where only differences are judged a number."""
    shares = any(one["scale"] == claims.RATIO for one in claims.decisive(verdict["numbers"]) if not one.get("guard"))
    value = claims.noticed(verdict)
    return told(value) if value is None or not shares else f"{value:.1%}".replace("%", "\u00a0%")


def interval(one: dict) -> str:
    """A number with its 95 % interval."""
    return told(one["measured"]) + (f" [{told(one['low'])}, {told(one['high'])}]" if one["low"] != one["high"] else "")


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
    """What would decide an undecided row, and by how much the worst number of a missed one is off."""
    said = [row["decides"]] if "decides" in row else []
    for verdict in row["parts"]:
        missed, draws = word(verdict) == claims.NOT_REPRODUCED, verdict["draws"]
        some, end = (verdict["numbers"], "high") if missed else (judged(verdict), "low")
        one = worst(some) or lowest(verdict["numbers"], end)
        where = one and f"{one['name']} {interval(one)}, {'law' if one['band'] else 'bound'} {told(base(one))}"
        if missed and one:
            said.append(where)
        elif word(verdict) != claims.UNDECIDED or "decides" in row:
            continue
        elif draws is not None and draws < claims.FEWEST_DRAWS:
            said.append(f"draws: there are {draws}, {claims.FEWEST_DRAWS} are asked for")
        elif far := [name for name in verdict["surviving"] if name not in verdict["near"]]:
            said.append(f"{part_of(verdict, row)}sizes that refuse {rivals(far)}")
        elif one and one["band"] and one["draws"]:
            low, mean, high = (off(one[key], base(one), one["scale"]) for key in ("low", "measured", "high"))
            room = abs(reach(one) - abs(mean)) or math.inf
            needed = draws * ((high - low) / 2 / room) ** 2
            more = f"about {math.ceil(needed)} draws" if draws < needed < 1000 else "more draws"
            said.append(f"{where}: {more if needed < 1000 else 'at the edge of its band'}")
        elif one:
            said.append(f"{where}: more draws")
    return "; ".join(dict.fromkeys(said)) or "a rival law that it refuses"


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
    counted = [row for row in rows if "repeats" not in row]
    whose = [name for name in WHOSE if any(row["of"] == name for row in rows)]
    count = Counter((row["verdict"], row["of"]) for row in counted)
    words = [[badge(one), *(str(count[one, of]) for of in whose)] for one in claims.WORDS]
    undecided = [row for row in counted if row["verdict"] == claims.UNDECIDED]
    again = [f"- {link(row, root)}: {' and '.join(several(row['repeats']))}" for row in rows if "repeats" in row]
    return {
        "status": status(rows),
        "all": [line for name in GROUPS[rows[0]["book"]] for line in group(rows, name, root)],
        "hardest": table("test | predicted | measured, 95 % | off by | draws | nearest rival", hardest(rows, root)),
        "words": table(f"word | {' | '.join(WHOSE[of][0] for of in whose)}", words),
        "missed": table("statement | whose | claimed | measured, 95 % | law or bound | off by", missed(counted, root)),
        "undecided": table(
            "statement | whose | what would decide it",
            [[link(row, root), row["of"], deciding(row)] for row in undecided],
        ),
        "limits": table("statement | measured, 95 % | law for these sizes | limit", limits(counted, root)),
        "dropped": table("draws | why they were set aside | statements", dropped(rows, root)),
        "eased": eased(rows, root),
        "repeats": again,
        "proved": table(
            "statement | proof | measured",
            [[link(row, root), row["proof"], told_because(row)] for row in rows if "proof" in row],
        ),
    }


def told_because(row: dict) -> str:
    """A row's word, and in a clause why it is no better."""
    return leading(row) + (f" {row['because']}" if row["because"] else "")


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
            cells = [name, told(base(one)), interval(one), away, told(verdict["draws"]) or "exact"]
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
            lines.append([*first, measured, told(base(one)), deviation(one)])
            first = ["", "", ""]
    return lines


def limits(rows: list[dict], root: Path) -> list[list[str]]:
    """Of each predicted row the number furthest from its limit, where that is not met."""
    lines = []
    for row in (row for row in rows if row["verdict"] == claims.PREDICTED):
        numbers = [one | {"law": one["limit"], "sizes": one["law"]} for part in row["parts"] for one in judged(part)]
        if one := worst(numbers):
            lines.append([f"{link(row, root)}: {one['name']}", interval(one), told(one["sizes"]), told(one["limit"])])
    return lines


def dropped(rows: list[dict], root: Path) -> list[list[str]]:
    """The first attempts that were never stored, as the log has them."""
    named, found = {row["statement"] for row in rows}, {}
    for line in log(root):
        for attempt, why in zip(line["dropped"].split(";"), line["why"].split(";"), strict=False):
            if why.endswith(". Never stored") and line["statement"] in named:
                key = attempt.split(" ")[1].replace("-", "–"), why.removesuffix(". Never stored")
                found.setdefault(key, {})[line["statement"]] = None
    return [[*key, "; ".join(statements)] for key, statements in found.items()]


def eased(rows: list[dict], root: Path) -> list[str]:
    """Why a rule was made easier after draws had been seen, and for which statements, as the log has it."""
    named, found = {row["statement"] for row in rows}, {}
    for line in log(root):
        for why in line["why"].split(";"):
            if EASED.search(why) and line["statement"] in named:
                said = re.sub(r" \([0-9a-f]{12}\)", "", why.partition(". Kept")[0])
                found.setdefault(said, {})[line["statement"]] = None
    return [f"- {', '.join(statements)}: {why}." for why, statements in found.items()]


def group(rows: list[dict], name: str, root: Path) -> list[str]:
    """A group of rows in a table, for the style sheet to lay out and assets/book.js to filter."""
    lines, rows = [], [row for row in rows if row["group"] == name]
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
            "records": ", ".join(dict.fromkeys(f"`{one['record']}`" for one in verdicts)),
        }
        how = ". ".join(f"*{key}* {value}" for key, value in judged.items() if value)
        seen = "Measured" if verdicts else "Seen"
        text = f"{row['claim']}. *{seen}*: {row['measured']}."
        word = f"[{badge(row['verdict'], place(row))}](sec-ev-words) {row['of']}"
        lines.append([link(row, root), word, text, how])
    rows_of = table("statement | word, whose | claimed, measured | how it is judged", lines)
    return [f"## {name.capitalize()}", "", f"{tally(rows)}.", "", ":::{container} ledger", "", *rows_of, ":::", ""]


def tally(rows: list[dict]) -> str:
    """How many rows have each word; those that only repeat others are not counted."""
    counts = Counter(row["verdict"] for row in rows if "repeats" not in row)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in claims.WORDS if counts[verdict])


def status(rows: list[dict]) -> list[str]:
    """A front page's table: a line for every theorem, with at most two numbers; the rest by number."""
    of = lambda row: FIGURES if row["statement"].startswith("Figure ") else WHOSE[row["of"]][1]
    lines = [
        [f"**{row['statement']}** {row['short']}", row["verdict"], row["number"]] for row in rows if "short" in row
    ]
    for name in (FIGURES, *(counted for _, counted in WHOSE.values())):
        rest = [row for row in rows if "short" not in row and "repeats" not in row and of(row) == name]
        if rest:
            lines.append([f"{len(rest)} {name}", tally(rest), "[evidence](chapters/evidence.md)"])
    return table("statement | verdict | measured", lines)


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


def csv_text(rows: list[dict], root: Path) -> str:
    """A book's evidence.csv."""
    commits = {(line["statement"], line["record"]): [line["rule_commit"], line["record_commit"]] for line in log(root)}
    lines = [COLUMNS]
    for row in rows:
        for verdict in row["parts"] or [{"record": "", "numbers": [], "draws": None, "refused": [], "surviving": []}]:
            end = [";".join(verdict[kind]) for kind in ("refused", "surviving")]
            end += commits.get((row["statement"], verdict["record"]), ["", ""])
            for one in verdict["numbers"] or [{"draws": verdict["draws"]}]:
                values = [scaled(one, key) for key in ("measured", "low", "high", "law", "limit", "band")]
                lines.append([row["statement"], row["of"], row["verdict"], *values, one["draws"], *end])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(lines)
    return out.getvalue()


def scaled(one: dict, key: str) -> str:
    """A field of a judged number on the scale on which its band is symmetric: of a ratio the logarithm."""
    value = one.get(key)
    if value is None or (one["band"] is not None and one["scale"] == claims.RATIO and key != "band" and value <= 0):
        return ""
    if one["band"] is not None and one["scale"] == claims.RATIO:
        value = reach(one) if key == "band" else math.log(value)
    return f"{value:.6g}"


def marked(text: str, found: dict[str, list[str]]) -> str:
    """A page with what stands between its marks brought up to date; `KeyError` for a mark of another name."""
    marks = r"(<!-- (\w+): tools/ledger.py writes what follows -->\n).*?(<!-- end of \2 -->)"
    fill = lambda mark: "\n".join([mark[1], *found[mark[2]]]).rstrip() + f"\n\n{mark[3]}"
    return re.sub(marks, fill, text, flags=re.S)


def pages(root: Path) -> dict[Path, str]:
    """What the generated files should hold."""
    found = {}
    for book, folder in LEDGERS.items():
        rows = load(root, book)
        texts = regions(rows, root) | {"headline": headline(root)}
        for name in ("README.md", "chapters/evidence.md", "chapters/all-statements.md"):
            path = root / book / name
            found[path] = marked(path.read_text(encoding="utf-8"), texts)
        found[root / folder / "evidence.csv"] = csv_text(rows, root)
    return found
