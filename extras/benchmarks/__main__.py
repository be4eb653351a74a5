"""`python -m benchmarks`: run the cases, print the table, write the record that the book's chapter on cost draws."""

import argparse
import importlib.metadata
import os
import sys

# before anything loads a BLAS or XLA
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import torch  # noqa: E402

from amembook.run import cache, records, runtime  # noqa: E402
from benchmarks import cases, race  # noqa: E402

SIZES = {
    "tiny": lambda device: (
        lambda: cases.products(64, device),
        lambda: cases.recovery(256, 16, device=device),
        lambda: cases.recovery(64, 64, uniform=True, device=device),
        lambda: cases.loss_and_gradient(256, 16, device),
        lambda: cases.spectral_maps(16, 256, device),
        lambda: cases.minibatch(256, 16, 4096, device),
        lambda: cases.draw(256, 4096),
    ),
    "full": lambda device: (
        lambda: cases.products(2048, device),
        lambda: cases.recovery(4096, 64, share=1 / 4, device=device),
        lambda: cases.recovery(16_384, 128, share=1 / 4, device=device),
        lambda: cases.recovery(16_384, 512, share=1 / 4, device=device),
        lambda: cases.recovery(65_536, 128, share=1 / 16, device=device),
        lambda: cases.recovery(8192, 1024, uniform=True, share=1 / 4, device=device),
        lambda: cases.loss_and_gradient(8192, 128, device),
        lambda: cases.loss_and_gradient(16_384, 128, device),
        lambda: cases.spectral_maps(128, 16_384, device),
        lambda: cases.spectral_maps(512, 16_384, device),
        lambda: cases.minibatch(65_536, 128, 2**20, device),
        lambda: cases.draw(65_536, 2**20),
    ),
    "device": lambda device: (
        lambda: cases.products(8192, device),
        lambda: cases.recovery(1_000_000, 128, share=1 / 64, brute=True, device=device),
        lambda: cases.recovery(262_144, 1024, share=1 / 16, brute=True, device=device),
        lambda: cases.loss_and_gradient(65_536, 128, device),
        lambda: cases.loss_and_gradient(65_536, 512, device),
        lambda: cases.polar_factor(4096, 1e6, device),
    ),
    "device-tiny": lambda device: (
        lambda: cases.products(64, device),
        lambda: cases.recovery(256, 16, share=1 / 4, brute=True, device=device),
        lambda: cases.loss_and_gradient(256, 16, device),
        lambda: cases.polar_factor(48, 1e6, device),
    ),
}
"""Cases by size; each is a function, so that only one lies in memory at a time. share: see `cases.recovery`."""

GOALS = (
    ("recovery-65536-128", "torch.mm in blocks", 75),
    ("recovery-65536-128", "faiss IndexFlatIP", 75),
    ("recovery-16384-512", "torch.mm in blocks", 10),
    ("recovery-uniform-8192-1024", "torch.mm in blocks", 0.9),
    ("loss-and-gradient-8192-128", "autograd of F.cross_entropy", 4),
    ("loss-and-gradient-16384-128", "autograd of F.cross_entropy", 4),
    ("loss-and-gradient-8192-128", "F.scaled_dot_product_attention", 1.8),
    ("loss-and-gradient-16384-128", "F.scaled_dot_product_attention", 1.8),
    ("loss-and-gradient-8192-128", "its two products, torch.mm", 0.8),
    ("loss-and-gradient-16384-128", "its two products, torch.mm", 0.8),
    ("spectral-maps-512", "torch.linalg.svd alone", 1 / 1.05),
    ("minibatch-65536-128", "gather B rows, float64", 40),
    ("draw-65536", "torch.multinomial and bincount", 15),
    ("recovery-1000000-128", cases.BRUTE, 40),
    ("loss-and-gradient-65536-128", "F.linear_cross_entropy", 1),
    ("loss-and-gradient-65536-128", "F.linear_cross_entropy, chunked", 1),
    ("polar-4096", "torch.linalg.svd and a product", 10),
)
"""What the library set out to reach, before it was measured: case, peer, and the peer's time over ours."""

ACCURATE = 1e-6
"""The relative error of loss and gradient beyond which no goal of theirs is met."""
PEERS = ("faiss-cpu", "pykeops", "cut-cross-entropy", "triton", "optax", "jax")


def measure(size: str, rounds: int, device: str) -> dict:
    """The record of all cases of one size: ratios, what was skipped, goals, provenance. Progress goes to stderr."""
    torch.set_num_threads(1)
    results = {}
    for build in SIZES[size](device):
        case = build()
        print(f"{case.name} …", file=sys.stderr, flush=True)
        results[case.name] = race.run(case, rounds, device)
    provenance = runtime.provenance(torch.device(device), cache.code_hash(cases.recovery))
    provenance["versions"] |= {name: version for name in PEERS if (version := _version(name))}
    return {
        "experiment": "benchmarks",
        "config": {"size": size, "rounds": rounds, "threads": 1, "clock": "cpu" if device == "cpu" else "wall"},
        "measured": results,
        "goals": [judged(*goal, results) for goal in GOALS if goal[0] in results],
        "device": provenance["device"],
        "provenance": provenance,
    }


def lines(record: dict):
    """The record as a table of text."""
    yield f"time over that of the first line of each case; median of {record['config']['rounds']} rounds [least, most]"
    yield from race.table(record["measured"])
    for goal in record["goals"]:
        reached = "not measured" if goal["measured"] is None else f"{goal['measured']:.3g}"
        verdict = {True: "met", False: "missed", None: "open"}[goal["met"]]
        yield f"goal {verdict}: {goal['case']}, {goal['entry']} at least {goal['least']:.3g} ×, got {reached}"


def judged(case: str, entry: str, least: float, results: dict) -> dict:
    """A goal beside what was measured; "met" is None where the peer took no part, False where ours is inaccurate."""
    ratios = results[case]["ratios"]
    measured = ratios[entry]["median"] if entry in ratios else None
    error = next(iter(ratios.values())).get("error")
    accurate = not case.startswith("loss") or error is None or error <= ACCURATE
    met = None if measured is None else measured >= least and accurate
    return {"case": case, "entry": entry, "least": least, "measured": measured, "met": met}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 when every case ran."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--output", help="write the record to this file")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {options.rounds}")
    runtime.device(options.device)
    if options.output:
        records.check_writable(options.output)
    record = measure(options.size, options.rounds, options.device)
    print("\n".join(lines(record)))
    if options.output:
        records.write_record(record | {"digest": records.digest_of(record)}, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
