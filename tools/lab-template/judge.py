"""What the lab says of its numbers: measured beside predicted, and the verdicts."""

import numpy as np
from scipy.special import ndtri

from amemlib.experiments.base import Results, standard_error
from amemlib.verdicts import refuse, verdict

BAND = 0.03
"""How far a mean may lie from its prediction, relative and beyond two standard errors: say here why."""
RATIO_BAND = 0.15
"""How far the largest n may be from the limit: the next order, −log log n / log n / 4, is a tenth there."""


def summarise(config, results: Results) -> tuple[dict, dict]:
    """`maximum` for each of `counts`, with its standard error; predicted for these sizes, and the limiting law."""
    maxima, n = results.array("maximum", "maximum"), np.array(config.counts)
    measured = {"maximum": maxima.mean(1).tolist(), "maximum_error": standard_error(maxima).tolist()}
    # the mean of a maximum is close to the quantile e^{-γ}/n of the upper tail
    predicted = {
        "maximum": (-ndtri(np.exp(-np.euler_gamma) / n)).tolist(),
        "limit": np.sqrt(2 * np.log(n)).tolist(),
    }
    return measured, predicted


def judge(config, measured: dict, predicted: dict) -> dict[str, dict]:
    """maximum: for these sizes the quantile; in the limit √(2 log n), at the largest n."""
    mean, error = (np.array(measured[key], dtype=float) for key in ("maximum", "maximum_error"))
    near = lambda law: (np.abs(mean / np.array(law) - 1) <= BAND + 2 * np.nan_to_num(error) / mean).all()  # noqa: E731
    limit = lambda value: abs(mean[-1] / value - 1) <= RATIO_BAND  # noqa: E731
    n = config.counts[-1]
    rivals = {"√log n": np.log(n) ** 0.5, "log n": np.log(n), "2 √log n": 2 * np.log(n) ** 0.5}
    return {"maximum": verdict(near(predicted["maximum"]), limit(predicted["limit"][-1]), refuse(limit, rivals))}
