"""The tool that changes the code to test the tests: what it changes, what it leaves alone, whose tests it runs."""

import datetime

import mutate
import pytest
import yaml


@pytest.mark.parametrize(
    "source, changes",
    [
        ("def f(a: 3) -> 4:\n    return a < 1", {"a < 1 → a <= 1", "1 → 2"}),
        ("x = a + b * 2.0", {"a + b * 2.0 → a - b * 2.0", "b * 2.0 → b / 2.0", "2.0 → 3.0"}),
        ("x += y", {"x += y → x -= y"}),
        ("x = a and b", {"a and b → a or b"}),
        ("'''Doc 1.'''\nraise ValueError(f'{a + 1}')", set()),
        ("x = True is None", set()),
    ],
)
def test_each_change_is_one_operator_or_number(source, changes):
    found = list(mutate.mutants(source))
    assert {change for _, change, _ in found} == changes
    assert all(text() != source and compile(text(), "", "exec") for _, _, text in found)


def test_a_room_is_tested_by_its_own_file_first_and_by_whoever_uses_its_names():
    tests = mutate.tests_of("recovery")
    assert tests[0] == "tests/test_recovery.py" and {"tests/test_theorems.py", "tests/test_elsewhere.py"} <= set(tests)
    assert "tests/test_ledger.py" not in tests


def test_reasons_stay_with_their_survivors():
    row = {"file": "amemlib/a.py", "code": "x = 1", "change": "1 → 2"}
    old = {
        "survivors": [
            row | {"reason": "equivalent: for a reason"},
            {"file": "amemlib/a.py", "code": "x = 1", "change": "gone", "reason": "-"},
        ]
    }
    other = row | {"file": "amemlib/b.py"}
    new = {"tried": 9, "killed": 7, "survivors": [row, other]}
    explained = mutate.with_reasons(new, old)
    assert explained["survivors"] == [row | {"reason": "equivalent: for a reason"}, other]
    assert mutate.equivalent(explained["survivors"]) == 1
    again = mutate.merged(explained, {"date": "2026-01-01", "survivors": [row]})
    assert again == explained | {"date": "2026-01-01", "killed": 8, "survivors": explained["survivors"][:1]}


def test_the_summary_is_dated_and_nine_in_ten_faults_are_noticed():
    summary = yaml.safe_load(mutate.SUMMARY.read_text(encoding="utf-8"))
    assert list(summary) == sorted(summary) and set(summary) == set(mutate.ROOMS)
    for room, found in summary.items():
        assert datetime.date.fromisoformat(found["date"]) <= datetime.date.today()
        assert all(row["reason"] for row in found["survivors"]), room
        assert found["tried"] == found["killed"] + len(found["survivors"]) <= found["possible"]
        assert found["killed"] >= 0.9 * (found["tried"] - mutate.equivalent(found["survivors"])), room


def test_every_survivor_is_a_change_of_the_code_as_it_stands():
    """Else its reason is of code that is gone."""
    summary = yaml.safe_load(mutate.SUMMARY.read_text(encoding="utf-8"))
    for room, found in summary.items():
        sources = {path: list(mutate.mutants(path.read_text(encoding="utf-8"))) for path in mutate.sources_of(room)}
        possible = {mutate.place(path, line, change) for path, rows in sources.items() for line, change, _ in rows}
        assert not [row for row in map(mutate.key, found["survivors"]) if row not in possible], room
