"""Draws are planned: what `power` says a claim needs is what decides it as often as it says, and no less does."""

import json

import numpy as np
import pytest

from amembook.run import claims, power
from amembook.run.command_line import main


def one_number(sd: float, draws: int, shift: float = 0.0, generator=None) -> dict:
    values = 100 * (1 + shift) + sd * (np.tile([-1.0, 1.0], draws // 2) if generator is None else generator(draws))
    error = values.std(ddof=1) / draws**0.5
    given = {"law": 100.0, "band": 0.03, "rivals": {"another": 120.0}}
    return claims.numbers("items", values.mean(), error, draws, **given)[0]


def test_the_scatter_of_a_draw_is_read_from_the_interval():
    assert power.scatter(one_number(5, 40)) == pytest.approx(0.05, rel=0.02)
    assert power.scatter(claims.numbers("exact", 1.0, law=1.0, band=0.1)[0]) is None
    assert power.draws_needed(claims.numbers("one draw", 1.0, np.nan, 1, law=1.0, band=0.1)[0]) is None


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_as_many_draws_as_it_says_decide_nine_times_of_ten(share):
    draws = power.draws_needed(one_number(5, 40), share)
    generator = np.random.default_rng(1)
    often = lambda n: np.mean(
        [
            claims.equivalence([one_number(5, n, share * 0.03, generator.standard_normal)])["word"] == "predicted"
            for _ in range(400)
        ]
    )
    assert often(draws) == pytest.approx(power.CHANCE, abs=0.05)
    assert often(draws // 2) < 0.75


def test_a_claim_of_several_numbers_needs_more_draws_and_a_biased_law_still_more():
    one = one_number(5, 40)
    assert power.draws_needed(one) < power.draws_needed(one, numbers=5) < power.draws_needed(one, 0.5, 5)


def test_the_command_names_what_a_study_needs_and_what_it_costs(capsys):
    assert main(["power", "loss", "--profile", "confirm"]) == 0
    shown = capsys.readouterr().out
    assert "one_lr: safe loss" in shown and "minutes" in shown
    assert main(["power", "loss", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["confirm-alpha-1.5"]
    assert {row["claim"] for row in rows} == {"polar", "smoothed_sign", "one_lr"}
    assert all(row["exact"] < row["half_off"] and row["minutes"][0] > 0 for row in rows)
    assert main(["power", "losses"]) == 2
