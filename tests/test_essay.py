"""The essay: its figures say what the library and the records say, and so does its text."""

import json
import math
import re
import subprocess
from pathlib import Path
from shutil import which

import explorer_data
import numpy as np
import pytest
from bs4 import BeautifulSoup
from scipy.stats import beta, norm

import amemlib as am
from amembook import read_records
from amemlib.equivalents import SpectralEquivalent

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "index.md").read_text(encoding="utf-8")
DIM, N_ITEMS, ALPHA = 256, 50_000, 1.5
WORDS_A_MINUTE, MINUTES = 180, 13
LAMBDAS = (1000, 100, 10, 1, 0.1, 0.01)

needs_node = pytest.mark.skipif(which("node") is None, reason="no node on this machine")


def in_node(script):
    """The value of a script that knows the engine, as JSON; `state` makes a state of the essay's memory."""
    scripts = [str(ROOT / "assets" / name) for name in ("explorer-data.js", "engine.js")]
    load = "".join(f"require({json.dumps(path)});" for path in scripts)
    state = f"""const state = (optimizer, lamOverT0) => ({{source: "power", alpha: {ALPHA}, dim: {DIM},
        nItems: {N_ITEMS}, batchSize: Infinity, optimizer, lamOverT0}});"""
    run = subprocess.run(["node", "-e", f"{load}{state}console.log({script})"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def problem():
    return am.Problem.power_law(N_ITEMS, DIM, ALPHA)


@pytest.fixture(scope="module")
def t0():
    return am.theory.bulk_scale(N_ITEMS, DIM, ALPHA)


@pytest.mark.process
@needs_node
def test_the_slider_from_sgd_to_muon_counts_as_the_library_does(problem, t0):
    shown = in_node(f"""JSON.stringify([amemEngine.predict(state("sgd")).capacity,
        ...{list(LAMBDAS)}.map((lam) => amemEngine.predict(state("smoothed", lam), 0.05).capacity),
        amemEngine.predict(state("polar"), 0.05).capacity])""")
    counts = [am.expected_capacity(problem, "smoothed_sign", lam * t0) for lam in LAMBDAS]
    ends = [am.expected_capacity(problem, name) for name in ("sgd", "polar")]
    assert shown == pytest.approx([ends[0], *counts, ends[1]], rel=0.01)
    told = re.search(r"SGD recalls (\d+), nearly all among the first 30. Muon recalls (\d+), more", TEXT).groups()
    assert [int(word) for word in told] == [round(count) for count in ends]
    assert f"{ends[1] / ends[0]:.0f} times as many facts" in TEXT


@pytest.mark.process
@needs_node
@pytest.mark.parametrize("rank", [1, 40, 600])
def test_the_scores_of_one_question_are_the_librarys(problem, t0, rank):
    asked = [("smoothed", lam) for lam in (100, 1)] + [("polar", 0)]
    script = f"""JSON.stringify({json.dumps(asked)}.map(([name, lam]) => amemEngine.scores(state(name, lam), {rank}))
        .map(({{ own, size, needed, p }}) => [own, size[0], needed, [...size], [...p.counts]]))"""
    for (_, lam), (own, loudest, needed, size, counts) in zip(asked, in_node(script), strict=True):
        law = SpectralEquivalent.solve(problem.frequencies, DIM, lam * t0)
        q = problem.frequencies[rank - 1 : rank]
        assert own == pytest.approx(math.sqrt(DIM) * law.signal_of(q)[0], rel=0.01)
        at = abs(law.values - q.item()).argmin()
        assert loudest == pytest.approx(math.sqrt(1 - law.unresolved * law.damping[at] * law.damping[0]), rel=0.01)
        phi = [0.5 * math.erfc(-needed / one / math.sqrt(2)) for one in size]
        log = sum(count * math.log(one) for count, one in zip(counts, phi, strict=True))
        assert log == pytest.approx(math.log(0.9), abs=0.05), "its own bin counts one less"


def test_under_sgd_leaks_have_either_sign(problem):
    signed = am.equivalents.sgd_capacity_constant(ALPHA) * DIM ** (0.5 / ALPHA)
    rest = signed - am.expected_capacity(problem, "sgd")
    # the integral of `sgd_capacity_constant` with every leak as loud as it is, but positive
    x, rivals = np.linspace(0, 40, 8001)[1:], np.arange(1, 1000)
    positive = np.exp(np.log(2 * norm.cdf((rivals / x[:, None]) ** ALPHA) - 1).sum(1))
    loud = np.trapezoid(positive, x) * DIM ** (0.5 / ALPHA)
    counts = DIM ** (0.5 / ALPHA), loud, signed, rest
    assert [f"{count:.0f}" for count in counts] == ["6", "9", "17", "4"]
    steps = (
        r"For 256 dimensions:\n\n- \*\*6\*\* .*\n- \*\*9\*\* because leaks vary in size;"
        r"\n- \*\*17\*\* because half of the leaks are negative.*\n- \*\*13\*\* .*echoes take four of these"
    )
    assert re.search(steps, TEXT)


def test_under_muon_a_score_scatters_around_its_bar():
    needed = norm.ppf(0.9 ** (1 / (N_ITEMS - 1)))
    g = np.linspace(-8, 8, 1601)
    wins = np.trapezoid(norm.pdf(g) * norm.cdf(needed + g) ** (N_ITEMS - 1), g)
    assert 0.62 < wins < 2 / 3 and "under Muon a bar of 1 wins nearly two times in three" in TEXT


@pytest.mark.process
@needs_node
@pytest.mark.parametrize("dim", [4, 256, 4096])
def test_the_largest_overlap_is_that_of_random_directions(dim):
    shown = in_node(f"amemEngine.overlaps({dim}, {N_ITEMS}).largest")
    # the square of one coordinate of a random direction
    square = beta(0.5, (dim - 1) / 2).ppf(0.5 ** (1 / N_ITEMS))
    assert shown == pytest.approx(math.sqrt(square), rel=0.01)
    if dim == 4096:
        assert shown < 0.1 and "stays below a tenth" in TEXT


def test_the_text_says_what_the_records_say():
    [steps] = read_records("one-step", "confirm-alpha-1.5")
    assert f"α = 3/2 is {steps['measured']['slope']['polar']:.2f}, and the limit is 4/3" in TEXT
    assert (steps["config"]["n_items"], steps["config"]["sgd_items"]) == (50_000, 2048)
    assert (steps["config"]["seeds"], steps["config"]["sgd_seeds"]) == (8, 32)


def test_the_staircase_holds_where_it_is_shown_and_below_it_the_sentence_does():
    stairs = explorer_data.stairs()
    assert stairs["dims"] == [256, 512]
    for muon, sgd in zip(stairs["muon"], stairs["sgd"], strict=True):
        assert (np.diff(muon[:4]) > 0).all() and (np.diff(sgd) > 0).all()
        assert (np.array(sgd[:5]) < muon).all() and sgd[5] > max(muon), "SGD's sixth passes Muon's fifth"
        # how many steps after each of Muon's first three SGD, between two of its own, has as many
        lead = np.interp(np.log(muon[:3]), np.log(sgd), range(6)) - range(3)
        assert 1.9 < lead.min() and lead.max() < 2.5 and "here of about two steps" in TEXT
    assert np.round(np.divide(stairs["sgd"][0][1:4], stairs["sgd"][0][:3]), 1).tolist() == [5.2, 4.0, 2.5]
    assert "at *d* = 256 by 5, 4 and 2.5, until no fact" in TEXT
    assert 0.97 < stairs["muon"][0][4] / stairs["muon"][0][3] < 1 < stairs["muon"][1][4] / stairs["muon"][1][3]
    assert "At *d* = 256 its fifth step loses a little more than it adds, and SGD's sixth passes it" in TEXT


def test_what_one_gradient_can_give_is_what_was_counted(problem):
    [record] = read_records("gradient-limit", "confirm")
    counts = {name: np.array(record["measured"]["counts"][name]) for name in ("polar", "best")}
    assert (np.round(counts["polar"] / counts["best"], 1) == 0.9).all(), "at every dimension and alpha"
    front, chapter = ((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "chapters/optimality.md"))
    matched, polar = (am.expected_capacity(problem, name) for name in ("matched_filter", "polar"))
    told = f"stores {matched / polar:.2f} times as many facts"
    assert all(told in text for text in (TEXT, front, chapter))
    assert N_ITEMS > DIM ** (1 + ALPHA / 2) == 16_384 and "facts, here 16,384. Our list is longer." in TEXT
    assert "$d^{1+\\alpha/2}$ facts or more, as there" in front
    said = "Muon stores about nine tenths of what any map of"
    assert said + " the gradient alone could" in TEXT and said + " that gradient alone could" in front


def test_the_batch_that_fills_a_memory_is_that_of_the_figure_too():
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    sizes, at = record["config"]["batch_sizes"], record["config"]["dims"].index(DIM)
    for name, full in (("sgd_at_dims", 32), ("polar", 4096)):
        counts, every = (record["measured"][field][name][at] for field in ("counts", "population"))
        assert next(size for size, count in zip(sizes, counts, strict=True) if count >= 0.9 * every) == full
    told = "SGD is full by a batch of the order of √*d*, here 32. *Full* means nine tenths of what it recalls from all"
    assert told in TEXT and "with a [small constant](chapters/minibatches.md), at 4,096." in TEXT


def test_what_it_repeats_of_a_chapter_stands_there():
    recall = (ROOT / "chapters" / "recall.md").read_text(encoding="utf-8")
    assert "Muon answers 0.93 of the questions on the uniform law, AdamW 0.34 and SGD 0.18" in recall
    assert "Muon answers 93 % of the questions, AdamW 34 % and SGD 18 %" in TEXT
    assert "at step 1500 they answer 0.92 and 0.93" in recall and "step 1,500 the others are at 92 and 93 %" in TEXT


def test_it_takes_no_longer_than_it_says_and_has_no_code_and_no_verdicts():
    body = re.sub(r"\A---.*?---\n|:::\{.*?:::|```bibtex.*?```", "", TEXT, flags=re.S)
    page = BeautifulSoup(re.sub(r"```.*|\]\([^)]*\)", "", body), "html.parser")
    for hidden in page.select("script, style, noscript"):
        hidden.decompose()
    words = len(page.get_text(" ").split())
    assert 10 * WORDS_A_MINUTE < words <= MINUTES * WORDS_A_MINUTE
    assert not page.select("code, pre") and not re.search("reproduced|finite-size|undecided", page.get_text())


def test_every_figure_has_its_words_its_control_and_a_number_that_is_heard():
    figures = BeautifulSoup(TEXT, "html.parser").select("figure[data-figure]")
    kinds = ["dots", "shouts", "guess", "overlaps", "loud", "dimensions", "batches", "stairs"]
    assert [figure["data-figure"] for figure in figures] == kinds
    for figure in figures:
        assert len(figure.figcaption.get_text().split()) > 15 and len(figure.select("output")) == 1
        controls = figure.select("input")
        assert 1 <= len(controls) <= 2 and all(control.find_parent("label") for control in controls)
        assert all(svg["aria-label"] and svg["viewbox"] for svg in figure.select("svg"))
