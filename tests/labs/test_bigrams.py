"""The mathematics of the lab `bigrams`. `made_up` and `FLAWS` are read by the contract over all labs."""

import copy
import dataclasses
import math

import bigram_table
import numpy as np
import pytest
import torch

import amemlib as am
from amemlib.labs import bigrams
from amemlib.labs.bigrams import expected, measure, text

CONFIG = bigrams.EXPERIMENT.profiles["cpu"]


def made_up():
    """Config, measured and predicted numbers that agree."""
    config = dataclasses.replace(CONFIG, dims=(128,), first=("0.25", "1", "copy"), late=("1",), first_seed=5720)
    drops = {"sgd": [[0.14, 0.38, 2.3]], "polar": [[0.08, 0.57, 4.6]]}
    predicted = {
        "first": drops,
        "second_order": {"sgd": [[0.2, 0.9, 14.0]], "polar": [[0.08, 0.6, 21.0]]},
        "contexts": {"sgd": [[2.3] * 3], "polar": [[4.6] * 3]},
        "no_noise": {"sgd": [[0.5, 0.9, 3.0]], "polar": [[1.0, 2.0, 5.0]]},
        "nuclear": [[0.3, 0.6, 1.2]],
        "nuclear_contexts": [[1.2] * 3],
        "nuclear_gaussian": [[0.5, 0.9, 1.5]],
    }
    ratio = [[math.log(a / b) for a, b in zip(drops["polar"][0], drops["sgd"][0], strict=True)]]
    measured = {
        "first": drops,
        "first_error": {"sgd": [[0.003] * 3], "polar": [[0.003] * 3]},
        "log_ratio": ratio,
        "log_ratio_error": [[0.01] * 3],
        "nuclear": [[0.3, 0.6, 1.2]],
        "nuclear_error": [[0.003] * 3],
        "lead": {"log": [-1.2], "interval": [[-1.4, -1.0]]},
    }
    return config, copy.deepcopy(measured), predicted


FLAWS = [
    (("first", "sgd", 0), [0.14, 0.8, 2.3], "first", "not reproduced"),
    (("log_ratio", 0), [-0.5, 0.0, 0.7], "ratio", "not reproduced"),
    (("nuclear", 0), [0.3, 0.8, 1.2], "spectrum", "not reproduced"),
    (("lead", "interval", 0), [-0.1, 0.2], "late", "not reproduced"),
]
"""Where in the measured numbers of `made_up`, what, and the word that this verdict then has."""


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"first": ("soft",)}, "targets"),
        ({"run": ("1.5",)}, "share"),
        ({"late": ()}, "late"),
        ({"levels": (0.01, 0.1)}, "levels"),
        ({"dims": ()}, "dims"),
        ({"seeds": 0}, "seeds"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        dataclasses.replace(CONFIG, **change)


def test_words_are_counted_inside_a_text_and_among_the_kept_ones():
    words, pairs = bigram_table.counted(["A b, a B c.", "c a", "x"], 2)
    assert words == ["a", "b"] and pairs == {(0, 1): 2, (1, 0): 1}
    assert bigram_table.counted(["A b, a B c.", "c a", "x"], 3)[1] == {(0, 1): 2, (1, 0): 1, (1, 2): 1, (2, 0): 1}


def test_targets_are_those_of_the_table():
    given = text.bigrams(64)
    table = np.load(bigram_table.TARGET)
    assert table["words"][0] == "the" and len(table["words"]) == text.MOST_WORDS
    pair = np.flatnonzero((table["first"] == 3) & (table["second"] == 0))
    among = (table["first"] == 3) & (table["second"] < 64)
    assert given.P[0, 3].item() == pytest.approx(table["number"][pair].item() / table["number"][among].sum())
    words = given.P @ given.frequencies
    torch.testing.assert_close(text.associated(0.0, 64).P, words[:, None].expand(64, 64))
    assert 0 == text.copied(64).entropy < given.entropy < text.associated(0.5, 64).entropy < math.log(64)
    assert (text.bigrams(2048).frequencies > 0).all()
    for wrong in (1, 2049):
        with pytest.raises(ValueError, match="n_words"):
            text.bigrams(wrong)


def test_copied_targets_are_the_books_memory():
    given = text.copied(40)
    emb = measure.embeddings(given, 12, 0, "cpu")
    G = emb.U.mT @ given.centred @ emb.V
    torch.testing.assert_close(G, am.initial_gradient(emb, given.frequencies))
    values = measure.losses(given, emb, "sgd", 1)
    assert values[0] == pytest.approx(math.log(40))
    along = lambda log_eta: am.loss(math.exp(log_eta) * G, emb, given.frequencies)  # noqa: E731
    assert values[1] == pytest.approx(min(map(along, np.linspace(0, 8, 161))), abs=0.01)


def test_a_step_goes_downhill_and_is_as_long_as_is_best():
    given = text.bigrams(40)
    emb = measure.embeddings(given, 8, 1, "cpu")
    for name in measure.MAPS:
        values = measure.losses(given, emb, name, 8)
        assert (np.diff(values) < 0).all()
        D = measure.direction(emb.U.mT @ given.centred @ emb.V, name)
        along = [_loss(eta * D, given, emb) for eta in np.geomspace(0.1, 30, 200)]
        assert values[1] == pytest.approx(min(along), abs=0.005)
    assert measure.least_loss(given, emb) < min(values)


def _loss(W, given, emb):
    logits = emb.U @ W @ emb.V.mT
    return (given.frequencies @ (torch.logsumexp(logits, 0) - (given.P * logits).sum(0))).item()


def test_the_search_for_a_steps_length_does_not_run_away():
    # where Newton's method alone went uphill
    given = text.associated(0.0, 512)
    for seed in range(6):
        emb = measure.embeddings(given, 128, seed, "cpu")
        values = measure.losses(given, emb, "sgd", 1)
        assert 0.05 < values[0] - values[1] < 0.2, seed


def test_the_spectrum_is_that_of_the_texts_singular_modes():
    given = text.bigrams(300)
    norms = []
    for seed in range(4):
        emb = measure.embeddings(given, 48, seed, "cpu")
        norms.append(torch.linalg.svdvals(emb.U.mT @ given.centred @ emb.V).sum().item())
    assert expected.nuclear_norm(given, 48) == pytest.approx(np.mean(norms), rel=0.06)


@pytest.mark.parametrize(("share", "dim"), [(0.4, 48), (1.0, 96)])
def test_first_steps_meet_their_prediction_at_sizes_that_no_record_has(share, dim):
    given = text.associated(share, 300)
    for name in measure.MAPS:
        drops = []
        for seed in range(4):
            emb = measure.embeddings(given, dim, seed, "cpu")
            drops.append(math.log(300) - measure.losses(given, emb, name, 1)[1])
        law = expected.expected_drop(given, dim, name)
        assert abs(np.mean(drops) - law) <= 0.15 * law + 2 * np.std(drops, ddof=1) / 2, name


def test_a_single_mode_makes_both_steps_one():
    given = text.associated(0.0, 100)
    emb = measure.embeddings(given, 16, 0, "cpu")
    assert len(expected.modes(given)[1]) == 1
    drops = [measure.losses(given, emb, name, 1)[1] for name in measure.MAPS]
    assert drops[0] == pytest.approx(drops[1])
    laws = [expected.expected_drop(given, 16, name) for name in measure.MAPS]
    assert laws[0] == pytest.approx(laws[1], rel=0.02)


def test_the_second_order_is_the_limit_of_small_drops():
    given, found = text.associated(0.3, 200), {}
    for name in measure.MAPS:
        found[name], sharp = (f(given, 8, name) for f in (expected.second_order_drop, expected.expected_drop))
        assert sharp == pytest.approx(found[name], rel=0.05) and sharp < 0.02, name
    assert expected.second_order_ratio(given, 8) == pytest.approx(found["polar"] / found["sgd"])
