"""The numbers that explorer and essay need and a browser cannot make: word frequencies, quadrature nodes, Sobol points.

A script and not a JSON file, because a page opened from a disk may not fetch.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from amembook import read_records, vocabularies
from amembook.tables import make_steps

SHARPNESS, NEARLY_ALL, ALL = 8, 0.9, 0.999
"""How sudden the end of a list is; the shares of it from which on a count says little more than that, and nothing."""
PAGE_NAMES = {"polar": "polar", "smoothed_sign": "smoothed", "sgd": "sgd"}
LANGUAGES = {"en": "English", "de": "German", "es": "Spanish", "fi": "Finnish", "ru": "Russian", "zh": "Chinese"}


def language_table(code: str) -> dict:
    """A word list as distinct frequencies, in hundredths of a decade below the first, and how many words share each."""
    p = vocabularies.words(code).frequencies.numpy()
    # wordfreq keeps frequencies to a hundredth of a decade, so nothing is lost
    below = np.round(100 * np.log10(p[0] / p)).astype(int).tolist()
    number = Counter(below)
    return {"below": sorted(number), "count": [number[step] for step in sorted(number)]}


def counted() -> list[dict]:
    """Stored means of one step's counts, which the page shows beside its curves: the confirming records' points."""
    points = []
    for alpha in ("1.25", "1.5", "2"):
        [record] = read_records("one-step", f"confirm-alpha-{alpha}")
        config, counts = record["config"], record["measured"]["counts"]
        spectral, sgd = (config["n_items"], config["dims"]), (config["sgd_items"], config["sgd_dims"])
        for name, (n_items, dims) in (("polar", spectral), ("smoothed_sign", spectral), ("sgd", sgd)):
            for dim, count in zip(dims, counts[name], strict=True):
                points.append(
                    {
                        "optimizer": PAGE_NAMES[name],
                        "alpha": config["alpha"],
                        "nItems": n_items,
                        "lam": config["lam_over_t0"] if name == "smoothed_sign" else 0,
                        "dim": dim,
                        "count": round(count, 2),
                    }
                )
    return points


def counted_batches() -> list[dict]:
    """Stored means of one step's counts from batches, both optimizers at the same d and N."""
    [record] = read_records("critical-batch", "confirm-alpha-1.5")
    config, counts = record["config"], record["measured"]["counts"]
    return [
        {
            "optimizer": optimizer,
            "alpha": config["alpha"],
            "nItems": config["n_items"],
            "dim": dim,
            "batchSize": batch_size,
            "count": round(count, 2),
        }
        for optimizer, key in (("polar", "polar"), ("sgd", "sgd_at_dims"))
        for dim, row in zip(config["dims"], counts[key], strict=True)
        for batch_size, count in zip(config["batch_sizes"], row, strict=True)
    ]


def stairs() -> dict:
    """Stored means of the counts after each of several steps of the thresholded gradient, by dimension and step."""
    [record] = read_records("deflation", "confirm-alpha-1.5")
    counts = record["measured"]["counts"]
    return {"dims": record["config"]["dims"], "muon": counts["smoothed_half"], "sgd": counts["sgd_half"]}


def endless(counts: np.ndarray, n_items: np.ndarray) -> np.ndarray:
    """Logarithms of what would be counted if the list did not end, x with count = x (1 + (x/N)^k)^(−1/k).

    counts: (…, N, steps). Where nearly all N items are stored the count says little of x: there it goes on as a power
    of N from the next two larger N, but never below what the count says. NaN stays NaN.
    """
    share = counts / n_items[:, None]
    x = np.log(counts) - np.log1p(-(np.minimum(share, ALL) ** SHARPNESS)) / SHARPNESS
    logs = np.log(n_items)
    for k in range(len(n_items) - 3, -1, -1):
        slope = (x[..., k + 2, :] - x[..., k + 1, :]) / (logs[k + 2] - logs[k + 1])
        further = x[..., k + 1, :] - slope * (logs[k + 1] - logs[k])
        x[..., k, :] = np.where(share[..., k, :] > NEARLY_ALL, np.fmax(x[..., k, :], further), x[..., k, :])
    return x


def or_none(value):
    """Nested lists with None for NaN: what JSON can say of a number that nobody knows."""
    if isinstance(value, list):
        return [or_none(inner) for inner in value]
    return None if value != value else value


def data() -> dict:
    """Everything the page's script reads, plain numbers."""
    hermite = {str(n): [x.tolist() for x in np.polynomial.hermite_e.hermegauss(n)] for n in (3, 24)}
    draws = ndtri(Sobol(8, rng=np.random.default_rng(0)).random_base2(7))
    return {
        "languages": {code: {"name": name} | language_table(code) for code, name in LANGUAGES.items()},
        "records": counted(),
        "batches": counted_batches(),
        "stairs": stairs(),
        "steps": {
            "alphas": make_steps.ALPHAS,
            "dims": make_steps.DIMS,
            "nItems": make_steps.N_ITEMS,
            "logCounts": or_none(np.round(endless(make_steps.counts(), np.array(make_steps.N_ITEMS)), 4).tolist()),
            "sharpness": SHARPNESS,
        },
        "hermite": hermite,
        "normals": np.round(draws, 5).tolist(),
    }


def text() -> str:
    """The script: one assignment."""
    body = json.dumps(data(), separators=(",", ":"), ensure_ascii=False)
    origin = "// Generated by tools/explorer_data.py; word frequencies: wordfreq."
    return f"{origin}\nglobalThis.amemExplorerData = {body};\n"


def pages(root: Path) -> dict[Path, str]:
    """What the page's script of numbers should hold."""
    return {root / "assets" / "explorer-data.js": text()}
