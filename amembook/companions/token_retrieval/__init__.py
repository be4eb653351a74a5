"""`token-retrieval`: how many sequences one step needs to retrieve tokens, with random and with orthogonal vectors.

On Vural, Bietti, Soltanolkotabi and Wu, arXiv:2603.15923.

Claim: the early phase of empirical gradient descent on a one-layer transformer with random embeddings yields explicit
formulas for its storage capacity with a multiplicative dependence between sample size, embedding dimension and sequence
length, intrinsic under non-orthogonal embeddings (abstract).

Caveats: a load at which a draw needs more samples than were tried is left out. The law of finding counts leading
orders: its mean over all sizes is held to 10 %, every size as well. The law of naming with shared lengths was seen to
hold; its mean over sizes is held to the 3 % of the law that it replaces, every size as well. No law is known of a polar
step on random vectors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from amembook.companions.token_retrieval import measure
from amembook.companions.token_retrieval.judge import judge, summarise
from amembook.run.base import Chance, Config, Count, Counts, Experiment, Grid, Natural, Several, draws, some_of
from amembook.run.studies import headline
from amemlib.checks import check_dims

PARTS = ("cross", "grid", "shared", "one-hot", "level", "attention")
"""V, d and L one at a time, with one-hot vectors, attention and a polar step; length and load together, and finding;
naming beside the law of shared lengths; of the first the one-hot vectors; naming where the
mean share of tokens is the level; of the first attention."""


Varied = Annotated[tuple[int, ...], partial(check_dims, least=2)]


@dataclass(frozen=True)
class TokenRetrievalConfig(Config):
    """Samples that a token's retrieval needs, by V, d and L."""

    n_tokens: Several = 256  # V, d and L where they do not vary
    dim: Several = 256
    length: Several = 64
    lengths: Varied = (32, 64, 128, 256, 512)  # where they do, one at a time
    dims: Varied = (192, 256, 384, 512)
    vocabularies: Varied = (64, 128, 256, 512)
    level: Chance = 0.9  # the share of tokens that counts as all
    per_label: Counts = (1, 2, 3, 4, 8)  # samples of a label for attention
    # the same for the signal over noise of a polar step on one-hot vectors
    gain_per_label: Counts = (7, 16, 32, 63, 129, 252)
    product_dim: Several = 256  # where length and V/d vary together
    product_vocabularies: Varied = (64, 256, 512, 1024)
    product_lengths: Varied = (32, 512)
    # V, d and L at which the samples that finding needs are measured, case by case
    find_tokens: Counts = (64, 64, 64, 64, 128, 256, 256)
    find_dims: Counts = (256, 64, 128, 64, 64, 64, 256)
    find_lengths: Counts = (256, 256, 512, 512, 512, 512, 512)
    # and those at which naming is held to the law of shared lengths
    shared_tokens: Counts = (64, 128, 256, 256, 256, 256, 512)
    shared_dims: Counts = (256, 256, 192, 256, 256, 512, 256)
    shared_lengths: Counts = (64, 64, 64, 32, 512, 64, 64)
    # those at which the mean share of named tokens is measured, from `low` and `high` samples of a label
    level_tokens: Counts = (64, 64)
    level_dims: Counts = (64, 64)
    level_lengths: Counts = (32, 64)
    level_low: Counts = (40, 80)
    level_high: Counts = (50, 100)
    level_from: Count = 32  # the length from which exponents are taken
    law_draws: Count = 20_000  # of lengths, that the law averages over
    law_log2_draws: Count = 11  # the same for the law of counts
    parts: Annotated[tuple[str, ...], some_of(*PARTS)] = PARTS[:3]
    seeds: Count = 5
    first_seed: Natural = 0

    def limits(self) -> None:
        if not len(self.shared_tokens) == len(self.shared_dims) == len(self.shared_lengths):
            raise ValueError(f"shared_dims must be as many as shared_tokens, got {list(self.shared_dims)}")
        ends = (self.level_dims, self.level_lengths, self.level_low, self.level_high)
        if any(len(self.level_tokens) != len(one) for one in ends):
            raise ValueError(f"level_dims must be as many as level_tokens, got {list(self.level_dims)}")
        if any(low >= high for low, high in zip(self.level_low, self.level_high, strict=True)):
            raise ValueError(f"level_high must be above level_low, got {list(self.level_high)}")
        if not len(self.find_tokens) == len(self.find_dims) == len(self.find_lengths):
            raise ValueError(f"find_dims must be as many as find_tokens and find_lengths, got {list(self.find_dims)}")


def cases(config: TokenRetrievalConfig) -> dict[str, dict]:
    """Every size once, by name: the base, and one of V, d, L at another value."""
    V, d, L = config.n_tokens, config.dim, config.length
    sizes = [(V, d, length) for length in config.lengths] + [(V, dim, L) for dim in config.dims]
    sizes += [(n_tokens, d, L) for n_tokens in config.vocabularies]
    return _named(dict.fromkeys(sizes))


def _named(sizes: Iterable[tuple[int, int, int]]) -> dict[str, dict]:
    return {f"{V} {d} {L}": {"n_tokens": V, "dim": d, "length": L} for V, d, L in sizes}


def one_hot_sizes(config: TokenRetrievalConfig) -> dict[str, dict]:
    """The V and L of the cases, each pair once: with one-hot vectors there is no other dimension."""
    pairs = dict.fromkeys((case["n_tokens"], case["length"]) for case in cases(config).values())
    return {f"{V} {L}": {"n_tokens": V, "length": L} for V, L in pairs}


def grids(config: TokenRetrievalConfig) -> dict[str, Grid]:
    """Samples needed by case, with random and one-hot vectors; attention and a polar step by samples of a label; naming
    by length and load, finding by case."""
    seeds = {"seed": draws(config)}
    finding = zip(config.find_tokens, config.find_dims, config.find_lengths, strict=True)
    product = {"n_tokens": config.product_vocabularies, "length": config.product_lengths} | seeds
    grid = {
        "product": Grid(measure.measure_product, product, dim=config.product_dim),
        "finding": Grid(measure.measure_finding, {"case": _named(finding)} | seeds),
    }
    sizes = zip(config.shared_tokens, config.shared_dims, config.shared_lengths, strict=True)
    shared = {"shared": Grid(measure.measure_product, {"case": _named(sizes)} | seeds)}
    cross = {"samples": Grid(measure.measure_samples, {"case": cases(config)} | seeds)}
    cross |= {"one-hot": Grid(measure.measure_one_hot, {"size": one_hot_sizes(config)} | seeds)}
    cross |= {"attention": Grid(measure.measure_attention, {"per_label": config.per_label} | seeds)}
    cross |= {"gain": Grid(measure.measure_gain, {"per_label": config.gain_per_label} | seeds)}
    ends = zip(config.level_low, config.level_high, strict=True)
    sizes = _named(zip(config.level_tokens, config.level_dims, config.level_lengths, strict=True))
    sizes = {
        name: size | {"low": low, "high": high} for (name, size), (low, high) in zip(sizes.items(), ends, strict=True)
    }
    level = {"level": Grid(measure.measure_level, {"case": sizes} | seeds)}
    every = {"cross": cross, "grid": grid, "shared": shared, "level": level}
    every |= {name: {name: cross[name]} for name in ("one-hot", "attention")}
    return {name: one for part in PARTS if part in config.parts for name, one in every[part].items()}


EXPERIMENT = Experiment(
    name="token-retrieval",
    purpose=headline(__doc__),
    profiles={
        "smoke": TokenRetrievalConfig(
            n_tokens=16, dim=48, length=8, lengths=(8, 16), dims=(48, 64), vocabularies=(8, 16), per_label=(1, 2),
            gain_per_label=(2, 4), product_dim=48, product_vocabularies=(8, 16), product_lengths=(4, 8),
            find_tokens=(8,), find_dims=(16,), find_lengths=(8,), shared_tokens=(12,), shared_dims=(48,),
            shared_lengths=(8,), law_draws=50, seeds=2,
        ),
        "cpu": TokenRetrievalConfig(parts=PARTS[:2]),  # two of the sizes of `shared` are those of a product
        "grid": TokenRetrievalConfig(parts=("grid",), seeds=24, first_seed=5324),
        # the load V/d = 4 in dimensions in which the capacity is far, beside one; finding at V/d = 4 and 8
        "loads": TokenRetrievalConfig(
            parts=("grid",), product_dim=512, product_vocabularies=(512, 2048), find_tokens=(512, 512),
            find_dims=(128, 64), find_lengths=(512, 512), seeds=8, first_seed=6620,
        ),
        "shared": TokenRetrievalConfig(parts=("shared",), seeds=48, first_seed=66_500),
        # one-hot vectors at every V and L of the cross
        "one-hot": TokenRetrievalConfig(parts=("one-hot",), seeds=60, first_seed=69_800),
        # naming where the mean share is the level: sizes on a cross, and length and load together from 128 words on
        "level": TokenRetrievalConfig(
            parts=("level",),
            level_tokens=(256, 256, 256, 256, 256, 256, 256, 256, 256, 64, 128, 512, 64, 64, 512, 512),
            level_dims=(256, 256, 256, 256, 256, 256, 192, 384, 512, 256, 256, 256, 256, 256, 256, 256),
            level_lengths=(32, 64, 128, 256, 512, 2048, 64, 64, 64, 64, 64, 64, 128, 2048, 128, 2048),
            level_low=(16, 33, 67, 135, 271, 1085, 64, 18, 13, 27, 26, 64, 54, 871, 129, 2080),
            level_high=(22, 43, 87, 173, 346, 1382, 82, 24, 18, 35, 34, 82, 70, 1110, 165, 2648),
            level_from=128, seeds=36, first_seed=73_000,
        ),
        # the same for 64 words, which scatter more
        "level-64": TokenRetrievalConfig(
            parts=("level",), level_tokens=(64, 64), level_dims=(256, 256), level_lengths=(128, 2048),
            level_low=(54, 871), level_high=(70, 1110), level_from=128, seeds=500, first_seed=73_450,
        ),
        # length and load together: 36 draws left one of three exponents' intervals wider than the band
        "product": TokenRetrievalConfig(
            parts=("level",), level_tokens=(64, 64, 256, 256, 512, 512), level_dims=(256,) * 6,
            level_lengths=(128, 2048) * 3, level_low=(54, 871, 67, 1085, 129, 2080),
            level_high=(70, 1110, 87, 1382, 165, 2648), level_from=128, seeds=100, first_seed=73_040,
        ),
        "attention": TokenRetrievalConfig(parts=("attention",), seeds=120, first_seed=73_330),
        # a polar step on one-hot vectors, by draws enough to decide; little of all else
        "gain": TokenRetrievalConfig(
            parts=("cross",), lengths=(32, 64), dims=(256, 384), vocabularies=(64, 256), per_label=(8,), seeds=24,
            first_seed=49_700,
        ),
    },
    grids=grids,
    summarise=summarise,
    judge=judge,
    unseen_from=3000,
    added={
        "parts": ("cross",), "product_dim": 256, "product_vocabularies": (64, 256), "product_lengths": (32, 64),
        "find_tokens": (64,), "find_dims": (64,), "find_lengths": (64,), "shared_tokens": (64,), "shared_dims": (64,),
        "shared_lengths": (64,), "law_draws": 20_000, "level_tokens": (64, 64), "level_dims": (64, 64),
        "level_lengths": (32, 64), "level_low": (40, 80), "level_high": (50, 100), "level_from": 32,
        "law_log2_draws": 11,
    },
)  # fmt: skip
