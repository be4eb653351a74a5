"""One giant N over several processes: each rank holds some rows of U, V and p, and the outputs go round in a ring.

The same program runs on every rank (`torchrun`), gloo between CPUs, NCCL between GPUs. Rank r of R holds the items r,
r + R, r + 2R, …: every rank has its share of the frequent items, which settle most of the others. Memory per rank is
O(N d / R); each pass sends (R − 1) N d / R numbers and computes 1/R of what one process would. Every function here is
called by all ranks together; without `process_group`, by the only one.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from jaxtyping import Bool, Float
from torch import Tensor

from amemlib import gradients, recovery
from amemlib.checks import check_positive
from amemlib.problem import Embeddings, Problem, check_frequencies
from amemlib.sampling import Stream, host_stream, sample_embedding_rows


@dataclass(frozen=True, eq=False)
class Shard:
    """What one rank holds of N items: `emb` and `frequencies` of the items rank, rank + R, …; R is `world_size`.

    emb: (n, d) rows of U and V. frequencies: (n,) float64, the rank's part of p or of minibatch frequencies q.
    """

    emb: Embeddings
    frequencies: Float[Tensor, " n"]
    n_items: int
    rank: int
    world_size: int


class LostRank(RuntimeError):
    """Another rank has gone, or is not heard of for longer than the group's timeout."""


TIMEOUT = 1800.0
"""Seconds that a rank waits for another one before it gives up."""


@contextmanager
def process_group(timeout: float = TIMEOUT) -> Iterator[None]:
    """Join the processes that torchrun started, NCCL if each has a GPU of its own, else gloo; alone otherwise.

    Raises `ValueError` if the environment names no possible group, `LostRank` if it does not come together, or if a
    rank then waits longer than `timeout` seconds for another one. A rank ends with the torchrun that started it.
    """
    if "WORLD_SIZE" not in os.environ:
        yield
        return
    check_positive("timeout", timeout)
    gpu = torch.cuda.is_available()
    rank, size = _place(gpu)
    if gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if "TORCHELASTIC_RUN_ID" in os.environ:
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    within = timedelta(seconds=timeout)
    try:
        store, rank, size = next(dist.rendezvous("env://", timeout=within))
        dist.init_process_group(
            "nccl" if gpu else "gloo",
            store=dist.PrefixStore("group", store),
            rank=rank,
            world_size=size,
            timeout=within,
        )
    except (RuntimeError, ValueError) as error:
        raise LostRank(f"rank {rank} of {size} has not met the others: {_first_line(error)}") from None
    with _named_when_ended(rank, size):
        try:
            yield
        except LostRank as error:
            # no farewell: the others are not there to answer
            raise LostRank(f"rank {rank} of {size} {error}{_silent(store, rank, size)}") from None
        except BaseException:
            dist.destroy_process_group()
            raise
        dist.destroy_process_group()


def _place(gpu: bool) -> tuple[int, int]:
    """RANK and WORLD_SIZE of the environment; `ValueError` for what no launcher sets."""
    numbers = {}
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT") + (("LOCAL_RANK",) if gpu else ()):
        text = os.environ.get(name, "")
        if not (text.isascii() and text.isdigit()):
            raise ValueError(f"{name} must be a whole number, as torchrun sets it, got {text!r}")
        numbers[name] = int(text)
    if not os.environ.get("MASTER_ADDR"):
        raise ValueError("MASTER_ADDR must be the machine of rank 0, as torchrun sets it, got ''")
    rank, size = numbers["RANK"], numbers["WORLD_SIZE"]
    if rank >= size:
        raise ValueError(f"RANK must be below WORLD_SIZE, {size}, got {rank}")
    return rank, size


@contextmanager
def _named_when_ended(rank: int, size: int) -> Iterator[None]:
    """Answer SIGTERM, with which torchrun ends the ranks that are left, with an error that says which one this was."""

    def end(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise LostRank("was told to end, as another rank has ended")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _silent(store, rank: int, size: int, patience: float = 2.0) -> str:
    """Which ranks do not say that they have stopped as well."""
    try:
        store.set(f"stopped/{rank}", "")
        time.sleep(patience)
        silent = [other for other in range(size) if not store.check([f"stopped/{other}"])]
    except (RuntimeError, LostRank):
        # rank 0 keeps the store
        return "; rank 0 does not answer" if rank else ""
    return f"; no word of rank {', '.join(map(str, silent))}" if silent else ""


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextmanager
def _waiting() -> Iterator[None]:
    try:
        yield
    except LostRank:
        raise
    except RuntimeError as error:
        raise LostRank(f"lost another rank: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__


def rank_and_world_size() -> tuple[int, int]:
    """This process among those that work together: (rank, R), (0, 1) without a process group."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def sample_shard(
    problem: Problem,
    seed: int,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    stream: Stream = host_stream,
) -> Shard:
    """This rank's rows of `sample_embedding_rows` with this stream and of p; no rank ever holds the others."""
    rank, size = rank_and_world_size()
    if problem.n_items < size:
        raise ValueError(f"n_items must be at least the number of ranks, {size}, got {problem.n_items}")
    emb = sample_embedding_rows(problem, seed, slice(rank, None, size), device, dtype, stream)
    return Shard(emb, problem.frequencies[rank::size], problem.n_items, rank, size)


def take_shard(emb: Embeddings, q: Float[Tensor, " N"]) -> Shard:
    """This rank's rows of embeddings and frequencies that every rank holds whole."""
    rank, size = rank_and_world_size()
    check_frequencies("q", q, emb.n_items)
    if emb.n_items < size:
        raise ValueError(f"emb must have at least as many rows as there are ranks, {size}, got {emb.n_items}")
    mine = slice(rank, None, size)
    return Shard(Embeddings(emb.U[mine].clone(), emb.V[mine].clone()), q[mine].double(), emb.n_items, rank, size)


def initial_gradient(shard: Shard) -> Float[Tensor, "d d"]:
    """−∇L at W = 0, the same (d, d) float64 on every rank; `gradients.initial_gradient` of the whole (Eq. (2)).

    G₀ = Σ_i q_i u_i v_iᵀ − ū (Σ_i q_i v_i)ᵀ: three sums over ranks, d² + 2d numbers.
    """
    emb, q = shard.emb, shard.frequencies.to(shard.emb.U.device)
    G = torch.zeros(emb.dim, emb.dim, dtype=torch.float64, device=emb.U.device)
    if q.any():
        # a rank whose items a minibatch has not seen has nothing to add
        G = gradients.thresholded_gradient(emb, q, 0)
    mean_output = _total(emb.U.double().sum(0)) / shard.n_items
    return _total(G) - torch.outer(mean_output, _total(q @ emb.V.double()))


def loss_and_gradient(W: Float[Tensor, "d d"], shard: Shard) -> tuple[float, Float[Tensor, "d d"]]:
    """L(W) in nats and −∇L(W), the same on every rank; `gradients.loss_and_gradient` of the whole (Eqs. (1), (2)).

    Each rank keeps its items and adds up their rivals as these come by: 4 N² d / R operations and R − 1 messages of
    N d / R numbers per rank.
    """
    emb, q = shard.emb, shard.frequencies.to(shard.emb.U.device)
    log_sums, means = gradients.rival_log_sums(W, emb)
    for outputs in _others(shard):
        more, more_means = gradients.rival_log_sums(W, emb, outputs)
        total = torch.logaddexp(log_sums, more)
        share = (more - total).exp()[:, None]
        means = (1 - share) * means + share * more_means
        log_sums = total
    own = (emb.U.double() * (emb.V.double() @ W.to(emb.V.device, torch.float64).T)).sum(1)
    excess = log_sums - own
    residual = torch.sigmoid(excess)[:, None] * (emb.U.double() - means)
    G = _total((q[:, None] * residual).T @ emb.V.double())
    return float(_total(q @ torch.nn.functional.softplus(excess, threshold=700))), G


def recovered(W: Float[Tensor, "d d"], shard: Shard) -> Bool[Tensor, " n"]:
    """Which of this rank's items W recovers among all N, exact; `recovery.recovered` of the whole (Eq. (4)).

    Only the items still unbeaten meet the next rank's outputs.
    """
    mask = recovery.recovered(W, shard.emb)
    for outputs in _others(shard):
        alive = mask.nonzero()[:, 0]
        if len(alive):
            mask[alive] = recovery.unbeaten_by(outputs, W, Embeddings(shard.emb.U[alive], shard.emb.V[alive]))
    return mask


def capacity(W: Float[Tensor, "d d"], shard: Shard) -> int:
    """Number of items of all ranks that W recovers, the same on every rank."""
    return int(_total(recovered(W, shard).sum()))


def from_first_rank(value):
    """A plain Python value of rank 0, on every rank."""
    if not dist.is_initialized():
        return value
    box = [value]
    with _waiting():
        dist.broadcast_object_list(box)
    return box[0]


def _total(x: Tensor) -> Tensor:
    if dist.is_initialized():
        x = x.contiguous()
        with _waiting():
            dist.all_reduce(x)
    return x


def _others(shard: Shard) -> Iterator[Tensor]:
    """The outputs of the other ranks, one rank after another; the next ones travel while these are in use."""
    block = shard.emb.U.contiguous()
    for hop in range(1, shard.world_size):
        owner = (shard.rank + hop) % shard.world_size
        n_rows = len(range(owner, shard.n_items, shard.world_size))
        arriving = torch.empty(n_rows, shard.emb.dim, dtype=block.dtype, device=block.device)
        ahead, behind = (shard.rank + 1) % shard.world_size, (shard.rank - 1) % shard.world_size
        pair = [dist.P2POp(dist.isend, block, behind), dist.P2POp(dist.irecv, arriving, ahead)]
        with _waiting():
            requests = dist.batch_isend_irecv(pair)
        if hop > 1:
            yield block
        with _waiting():
            for request in requests:
                request.wait()
        block = arriving
    if shard.world_size > 1:
        yield block
