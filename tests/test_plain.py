"""The paper in plain torch against the library: the same draws, gradients, counts. And `import amemlib` on its own."""

import subprocess
import sys
from itertools import repeat
from pathlib import Path

import pytest
import torch

import amemlib as am
from amembook import vocabularies
from amemlib import plain

N, D, ALPHA = 300, 24, 1.5
PROBLEM = am.Problem.power_law(N, D, ALPHA)


def draw(seed):
    return am.sample_embeddings(PROBLEM, seed, dtype=torch.float64)


def test_frequencies_and_draws_are_the_librarys_bit_for_bit():
    assert torch.equal(plain.frequencies(N, ALPHA), PROBLEM.frequencies)
    # more than one block of the library's stream
    problem = am.Problem.power_law(9000, 3, ALPHA)
    U, V = plain.embeddings(9000, 3, 5)
    for dtype in (torch.float64, torch.float32):
        emb = am.sample_embeddings(problem, 5, dtype=dtype)
        assert torch.equal(emb.U, U.to(dtype)) and torch.equal(emb.V, V.to(dtype))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("batch_size", [None, 50])
def test_loss_and_gradient_are_the_librarys(scale, batch_size):
    emb, q = draw(0), PROBLEM.frequencies if batch_size is None else am.sample_minibatch(PROBLEM, batch_size, 0)
    W = scale * plain.polar(am.initial_gradient(emb, q))
    loss, G = am.loss_and_gradient(W, emb, q)
    assert plain.loss(W, emb.U, emb.V, q).item() == pytest.approx(loss, rel=1e-12)
    torch.testing.assert_close(plain.gradient(W, emb.U, emb.V, q), G, rtol=0, atol=1e-12)
    if not scale:
        torch.testing.assert_close(am.initial_gradient(emb, q), G, rtol=0, atol=1e-12)


def test_equation_2_is_the_gradient_of_equation_1_at_any_memory():
    U, V = plain.embeddings(N, D, 1)
    for q in (PROBLEM.frequencies, am.sample_minibatch(PROBLEM, 30, 0)):
        W = torch.randn(D, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
        plain.loss(W, U, V, q).backward()
        torch.testing.assert_close(plain.gradient(W.detach(), U, V, q), -W.grad, rtol=0, atol=1e-14)


@pytest.mark.parametrize("batch_size", [None, 5, 50])
def test_the_polar_factor_is_the_librarys_at_every_rank(batch_size):
    emb, q = draw(2), PROBLEM.frequencies if batch_size is None else am.sample_minibatch(PROBLEM, batch_size, 0)
    G = am.initial_gradient(emb, q)
    W = plain.polar(G)
    torch.testing.assert_close(W, am.polar(G), rtol=0, atol=1e-12)
    torch.testing.assert_close(W, am.polar(G, am.gradient_rank(emb, q)), rtol=0, atol=1e-12)


def test_the_same_items_are_recovered():
    for seed in range(10):
        emb = draw(seed)
        G = plain.gradient(torch.zeros(D, D, dtype=torch.float64), emb.U, emb.V, PROBLEM.frequencies)
        for W in (G, plain.polar(G), am.polar(G)):
            mask = plain.recovered(W, emb.U, emb.V)
            assert torch.equal(mask, am.recovered(W, emb)) and 0 < mask.sum() < N


def test_muons_iterates_are_the_librarys():
    emb, p, lr = draw(3), PROBLEM.frequencies, D**0.5
    library = list(am.trajectory(emb, repeat(p, 4), am.polar, lr))[1:]
    for W, other in zip(plain.muon_iterates(emb.U, emb.V, p, lr, 4), library, strict=True):
        torch.testing.assert_close(W, other, rtol=0, atol=1e-9)
        assert plain.recovered(W, emb.U, emb.V).sum() == am.capacity(other, emb)


@pytest.mark.parametrize("dim", [32, 64])
def test_it_says_what_the_first_chapter_counts(dim):
    p = vocabularies.capitals().frequencies
    problem = am.Problem.from_frequencies(p, dim)
    for seed in range(5):
        U, V = plain.embeddings(len(p), dim, seed)
        G, emb = plain.gradient(torch.zeros(dim, dim).double(), U, V, p), am.sample_embeddings(problem, seed)
        library = am.initial_gradient(emb, problem.frequencies)
        for W, other in ((G, library), (plain.polar(G), am.polar(library))):
            assert int(plain.recovered(W, U, V).sum()) == am.capacity(other, emb)


def test_it_stands_alone_and_fits_a_page():
    lines = Path(plain.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60 and not [line for line in lines if line.startswith(("import", "from")) and "am" in line]


BLOCKED = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "tqdm", "amembook"):
            raise ImportError(f"amemlib must not import {name}")

sys.meta_path.insert(0, Refuse())
import amemlib as am
for name in am.__all__:
    getattr(am, name)
problem = am.Problem.power_law(200, 16, 1.5)
emb = am.sample_embeddings(problem, seed=0)
W = am.step(0, am.initial_gradient(emb, problem.frequencies), am.polar, 1.0)
print(am.capacity(W, emb), round(am.expected_capacity(problem, "polar")))
"""


@pytest.mark.process
def test_the_library_needs_neither_the_book_nor_its_drawing():
    root = Path(am.__file__).resolve().parents[1]
    found = subprocess.run([sys.executable, "-c", BLOCKED], cwd=root, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert all(int(count) > 1 for count in found.stdout.split())
