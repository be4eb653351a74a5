"""The mathematics of `bigrams`."""

import math

import numpy as np
import pytest
import torch

import amemlib as am
from amembook.practice import bigrams
from amembook.practice.bigrams import expected, make_table, text

FLAWS = [
    (("first", "sgd", 0), [0.14] * 6, "first", "not reproduced"),
    (("log_ratio", 0), [0.7] * 6, "ratio", "not reproduced"),
    (("nuclear", 0), [0.3] * 6, "spectrum", "not reproduced"),
    (("lead", "interval", 0), [0.1, 0.2], "late", "not reproduced"),
]
REFUSED = [("run", ("1.5",), "share"), ("levels", (0.01, 0.1))]


def test_words_are_counted_inside_a_text_and_among_the_kept_ones():
    words, pairs = make_table.counted(["A b, a B c.", "c a", "x"], 2)
    assert words == ["a", "b"] and pairs == {(0, 1): 2, (1, 0): 1}
    assert make_table.counted(["A b, a B c.", "c a", "x"], 3)[1] == {(0, 1): 2, (1, 0): 1, (1, 2): 1, (2, 0): 1}


def test_targets_are_those_of_the_table():
    soft = text.bigrams(64)
    table = np.load(make_table.TARGET)
    assert table["words"][0] == "the" and len(table["words"]) == text.MOST_WORDS
    pair = np.flatnonzero((table["first"] == 3) & (table["second"] == 0))
    among = (table["first"] == 3) & (table["second"] < 64)
    assert soft.P[0, 3].item() == pytest.approx(table["number"][pair].item() / table["number"][among].sum())
    words = soft.P @ soft.frequencies
    torch.testing.assert_close(text.associated(0.0, 64).P, words[:, None].expand(64, 64))
    assert 0 == text.copied(64).entropy < soft.entropy < text.associated(0.5, 64).entropy < math.log(64)
    assert (text.bigrams(2048).frequencies > 0).all()
    for wrong in (1, 2049):
        with pytest.raises(ValueError, match="n_words"):
            text.bigrams(wrong)


def test_copied_targets_are_the_books_memory():
    soft = text.copied(40)
    emb = bigrams.embeddings(soft, 12, 0, "cpu")
    G = emb.U.mT @ soft.centred @ emb.V
    torch.testing.assert_close(G, am.initial_gradient(emb, soft.frequencies))
    values = bigrams.losses(soft, emb, "sgd", 1)
    assert values[0] == pytest.approx(math.log(40))
    along = lambda log_eta: am.loss(math.exp(log_eta) * G, emb, soft.frequencies)
    assert values[1] == pytest.approx(min(map(along, np.linspace(0, 8, 161))), abs=0.01)


def test_a_step_goes_downhill_and_is_as_long_as_is_best():
    soft = text.bigrams(40)
    emb = bigrams.embeddings(soft, 8, 1, "cpu")
    for name in bigrams.MAPS:
        values = bigrams.losses(soft, emb, name, 8)
        assert (np.diff(values) < 0).all()
        D = bigrams.direction(emb.U.mT @ soft.centred @ emb.V, name)
        along = [_loss(eta * D, soft, emb) for eta in np.geomspace(0.1, 30, 200)]
        assert values[1] == pytest.approx(min(along), abs=0.005)
    assert bigrams.least_loss(soft, emb) < min(values)


def _loss(W, soft, emb):
    logits = emb.U @ W @ emb.V.mT
    return (soft.frequencies @ (torch.logsumexp(logits, 0) - (soft.P * logits).sum(0))).item()


def test_the_search_for_a_steps_length_does_not_run_away():
    # where Newton's method alone went uphill
    soft = text.associated(0.0, 512)
    for seed in range(6):
        emb = bigrams.embeddings(soft, 128, seed, "cpu")
        values = bigrams.losses(soft, emb, "sgd", 1)
        assert 0.05 < values[0] - values[1] < 0.2, seed


def test_the_spectrum_is_that_of_the_texts_singular_modes():
    soft = text.bigrams(300)
    norms = []
    for seed in range(4):
        emb = bigrams.embeddings(soft, 48, seed, "cpu")
        norms.append(torch.linalg.svdvals(emb.U.mT @ soft.centred @ emb.V).sum().item())
    assert expected.nuclear_norm(soft, 48) == pytest.approx(np.mean(norms), rel=0.06)


@pytest.mark.parametrize(("share", "dim"), [(0.4, 48), (1.0, 96)])
def test_first_steps_meet_their_prediction_at_sizes_that_no_record_has(share, dim):
    soft = text.associated(share, 300)
    for name in bigrams.MAPS:
        drops = []
        for seed in range(4):
            emb = bigrams.embeddings(soft, dim, seed, "cpu")
            drops.append(math.log(300) - bigrams.losses(soft, emb, name, 1)[1])
        law = expected.expected_drop(soft, dim, name)
        assert abs(np.mean(drops) - law) <= 0.15 * law + 2 * np.std(drops, ddof=1) / 2, name


def test_a_single_mode_makes_both_steps_one():
    soft = text.associated(0.0, 100)
    emb = bigrams.embeddings(soft, 16, 0, "cpu")
    assert len(expected.modes(soft)[1]) == 1
    drops = [bigrams.losses(soft, emb, name, 1)[1] for name in bigrams.MAPS]
    assert drops[0] == pytest.approx(drops[1])
    laws = [expected.expected_drop(soft, 16, name) for name in bigrams.MAPS]
    assert laws[0] == pytest.approx(laws[1], rel=0.02)


def test_the_second_order_is_the_limit_of_small_drops():
    soft, rough = text.associated(0.3, 200), {}
    for name in bigrams.MAPS:
        rough[name], sharp = (f(soft, 8, name) for f in (expected.second_order_drop, expected.expected_drop))
        assert sharp == pytest.approx(rough[name], rel=0.05) and sharp < 0.02, name
