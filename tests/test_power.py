"""A sceptic's test of every word that a law has earned: move the law by twice what its power says; the word goes."""

import pytest

from amembook.run import records, studies
from amembook.run.base import config_of
from amembook.run.claims import DIFFERENCE, PREDICTED, RATIO, REPRODUCED, equivalence

NAMES = [name for group in ("paper", "practice") for name in studies.names()[group]]
STORED = {
    f"{name}/{record['name']}": record
    for name in NAMES
    if (records.RECORDS / name).is_dir()
    for record in records.read_records(name)
}
EARNED = [
    (name, key)
    for name, record in STORED.items()
    for key, verdict in record["verdicts"].items()
    if verdict["word"] in (REPRODUCED, PREDICTED)
]


# of the others the law is a measured number, an exponent of the theorem, or 1
PREDICTIONS: set[tuple[str, str]] = set()


def moved(number: dict, by: float, scale: str) -> dict:
    """A judged number whose law, or limit where it has none, is another: a ratio, or a difference."""
    key = "limit" if number["law"] is None else "law"
    if number["scale"] != scale:
        return number
    return number | {key: number[key] + by if scale == DIFFERENCE else number[key] * (1 + by)}


@pytest.mark.parametrize(("name", "key"), EARNED)
def test_a_law_off_by_twice_the_power_loses_its_word(name, key):
    verdict = STORED[name]["verdicts"][key]
    scale = RATIO if any(number["scale"] == RATIO for number in verdict["numbers"]) else DIFFERENCE
    for by in (2 * verdict["power"], 1 / (1 + 2 * verdict["power"]) - 1 if scale == RATIO else -2 * verdict["power"]):
        worse = equivalence([moved(number, by, scale) for number in verdict["numbers"]])
        assert worse["word"] not in (REPRODUCED, PREDICTED), by


def scaled(value, factor: float):
    if isinstance(value, dict):
        return {key: scaled(inner, factor) for key, inner in value.items()}
    if isinstance(value, list):
        return [scaled(inner, factor) for inner in value]
    return value * factor if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def tilted(value, factor: float):
    """The same at the largest size alone, which a list ends with."""
    if isinstance(value, dict):
        return {key: tilted(inner, factor) for key, inner in value.items()}
    if isinstance(value, list) and value and not isinstance(value[-1], list):
        return [*value[:-1], scaled(value[-1], factor)]
    return [tilted(inner, factor) for inner in value] if isinstance(value, list) else value


def steeper(value, factor):
    """Predictions by d and step, those at the last d changed."""
    if isinstance(value, dict):
        return {key: steeper(inner, factor) for key, inner in value.items()}
    rows = isinstance(value, list) and value and isinstance(value[-1], list)
    return [*value[:-1], scaled(value[-1], factor)] if rows else value


@pytest.mark.parametrize(("name", "key"), EARNED)
def test_a_stored_prediction_off_by_twice_the_power_loses_its_word(name, key):
    record, verdict = STORED[name], STORED[name]["verdicts"][key]
    experiment = studies.find_experiment(record["experiment"])
    config = config_of(experiment, record["config"])
    # what all counts share a ratio of counts does not see
    grows = any(number["name"].startswith("growth") for number in verdict["numbers"])
    # a total whose law is that of its own draws is no stored prediction, though its entries, which guard it, may be
    # nor is one in whose unit the measured number is given, as both move
    stands = lambda one: [
        (n["limit"] if n["law"] is None else n["law"], n["measured"]) for n in one["numbers"] if not n.get("guard")
    ]

    def is_moved(one: dict) -> bool:
        pairs = zip(stands(one), stands(verdict), strict=True)
        return any(law != own and measured == pytest.approx(drawn) for (law, measured), (own, drawn) in pairs)

    for factor in (1 + 2 * verdict["power"], 1 / (1 + 2 * verdict["power"])):
        others = [change(record["predicted"], factor) for change in (scaled, *([tilted, steeper] if grows else []))]
        worse = [experiment.verdicts(config, record["measured"], predicted)[key] for predicted in others]
        if any(map(is_moved, worse)):
            PREDICTIONS.add((name, key))
            assert any(one["word"] not in (REPRODUCED, PREDICTED) for one in worse), factor


def test_most_laws_are_stored_predictions():
    assert len(PREDICTIONS) >= 0.6 * len(EARNED), sorted(set(EARNED) - PREDICTIONS)


def test_every_claim_of_exponents_has_a_rival_nearby():
    for name, record in STORED.items():
        for key, verdict in record["verdicts"].items():
            if verdict["kind"] != "law":
                continue
            near = [
                abs(rival - (one["limit"] if one["law"] is None else one["law"]))
                for one in verdict["numbers"]
                if one["name"].startswith("exponent")
                for rival in one["rivals"].values()
            ]
            assert not near or min(near) <= 0.3, (name, key, min(near))
