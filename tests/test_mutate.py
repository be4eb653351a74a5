"""The tool that changes the code to test the tests: what it changes, what it leaves alone, whose tests it runs."""

import mutate
import pytest


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
    assert all(text != source and compile(text, "", "exec") for _, _, text in found)


def test_a_room_is_tested_by_its_own_file_first_and_by_whoever_uses_its_names():
    tests = mutate.tests_of("recovery")
    assert tests[0] == "tests/test_recovery.py" and "tests/test_theorems.py" in tests
    assert "tests/test_ledger.py" not in tests


def test_reasons_stay_with_their_survivors():
    row = {"file": "amemlib/a.py", "change": "1 → 2"}
    old = {
        "survivors": [
            row | {"line": 3, "reason": "equivalent"},
            {"file": "amemlib/a.py", "change": "gone", "reason": "-"},
        ]
    }
    new = {"tried": 9, "survivors": [row | {"line": 7}, {"file": "amemlib/b.py", "change": "1 → 2", "line": 1}]}
    assert mutate.with_reasons(new, old)["survivors"] == [
        row | {"line": 7, "reason": "equivalent"},
        {"file": "amemlib/b.py", "change": "1 → 2", "line": 1},
    ]
