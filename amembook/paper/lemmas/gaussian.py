"""Moments of polynomials in standard normals as exact fractions, for Lemma 25."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product


def gaussian_expectation(factors: Iterable[Iterable[tuple[int | Fraction, tuple]]]) -> Fraction:
    """E of a product of polynomials in independent standard normals, exactly.

    factors: each a sum of terms (coefficient, names of the normals multiplied, with repetition). The product is
    multiplied out, and E g^{2m} = (2m − 1)!!. Exponential in the number of factors: for monomials of a few entries.
    """
    total = Fraction(0)
    for terms in product(*map(tuple, factors)):
        names = [name for _, names in terms for name in names]
        moment = Fraction(math.prod(coefficient for coefficient, _ in terms))
        for name in set(names):
            power = names.count(name)
            moment *= 0 if power % 2 else math.prod(range(power - 1, 0, -2))
        total += moment
    return total
