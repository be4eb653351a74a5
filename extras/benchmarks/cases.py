"""What is compared with what: recovery, loss and gradient, spectral maps, minibatches, and the machine's products.

Every peer gets the formulation in which it is fastest here, and does what its public interface allows.
"""

import contextlib
import math
import sys

import torch
import torch.nn.functional as F

import amemlib as am
from benchmarks.race import Case, Entry

ALPHA = 1.5
FLIPS, BFLOAT16_FLIPS = 1e-3, 0.05
"""Share of the items on which a scan may disagree with the exact answer and still be timed."""
BRUTE = "bfloat16 in blocks"


def recovery(
    n_items: int, dim: int, *, uniform: bool = False, share: float = 1.0, brute: bool = False, device: str = "cpu"
) -> Case:
    """Which items the polar step recovers. share: the part of the inputs that the exhaustive scans go through.

    brute: with a scan in bfloat16; what is exact is then said by float64.
    """
    problem = _problem(n_items, dim, uniform)
    emb = am.sample_embeddings(problem, 0, device)
    W = am.polar(am.initial_gradient(emb, problem.frequencies))
    truth = am.recovered(W, emb)
    rows = torch.arange(0, n_items, round(1 / share), device=device)
    U, Z = emb.U, (emb.V.double() @ W.T).float()
    own = (Z * U).sum(1)[rows]

    def dense():
        needed = 4e-9 * len(rows) * n_items
        if needed > 4:
            raise NotImplementedError(f"its matrix of scores needs {needed:.0f} GB")

        def call():
            scores = Z[rows] @ U.T
            scores[torch.arange(len(rows)), rows] = -torch.inf
            return own > scores.amax(1)

        return call

    def blocked(product):
        return scan(lambda part, start: product(Z[rows[part]], U[start : start + 4096]))

    def scan(scores_of):
        def call():
            best = torch.full((len(rows),), -torch.inf, dtype=own.dtype, device=device)
            for low in range(0, len(rows), 1024):
                part = slice(low, low + 1024)
                for start in range(0, n_items, 4096):
                    scores = scores_of(part, start)
                    mine = (rows[part] >= start) & (rows[part] < start + 4096)
                    scores[mine, rows[part][mine] - start] = -torch.inf
                    best[part] = torch.maximum(best[part], scores.amax(1))
            return own > best

        return call

    def faiss_search():
        import faiss

        _needs_cpu(device)
        faiss.omp_set_num_threads(1)
        queries, stored = Z[rows].contiguous().numpy(), U.numpy()

        def call():
            index = faiss.IndexFlatIP(dim)
            index.add(stored)
            scores, found = map(torch.from_numpy, index.search(queries, 2))
            return (found[:, 0] == rows) & (scores[:, 0] > scores[:, 1])

        return call

    def keops():
        with contextlib.redirect_stdout(sys.stderr):
            import pykeops

        if n_items > 4096:
            raise NotImplementedError("some hundred times slower than a product at this size; see the small case")
        pykeops.set_verbose(False)
        from pykeops.torch import LazyTensor

        z, u = LazyTensor(Z[rows][:, None]), LazyTensor(U[None])
        return lambda: (-(z * u).sum(-1)).argKmin(K=1, dim=1)[:, 0] == rows

    def bfloat16():
        Z16, U16 = Z.bfloat16(), U.bfloat16()
        return scan(lambda part, start: _bfloat16_product(Z16[rows[part]], U16[start : start + 4096]))

    compare = lambda mask: (mask != truth[rows]).double().mean()
    scans = {
        "torch, dense": dense,
        "torch.mm in blocks": lambda: blocked(lambda A, B: A @ B.T),
        "oneDNN in blocks": lambda: blocked(_onednn_product(device)),
        "faiss IndexFlatIP": faiss_search,
        "KeOps": keops,
    }
    checked, brutes = truth[rows], ()
    if brute:
        Z64, U64 = emb.V[rows].double() @ W.T, U.double()
        own = (Z64 * U64[rows]).sum(1)
        checked = scan(lambda part, start: Z64[part] @ U64[start : start + 4096].T)()
        own = own.float()
        brutes = (Entry(BRUTE, bfloat16, compare, BFLOAT16_FLIPS, len(rows) / n_items),)
    wrong = lambda mask: (mask[rows] != checked).sum()
    recovered = int(truth.sum())
    return Case(
        f"recovery-{'uniform-' if uniform else ''}{n_items}-{dim}",
        f"which of N = {n_items} items W = polar(G) recovers at d = {dim}"
        f"{', equal frequencies' if uniform else ''} ({recovered} of them, {recovered / n_items:.1%})",
        (
            Entry("amemlib recovered", lambda: lambda: am.recovered(W, emb), wrong),
            *(Entry(name, prepare, compare, FLIPS, len(rows) / n_items) for name, prepare in scans.items()),
            *brutes,
        ),
    )


def loss_and_gradient(n_items: int, dim: int, device: str = "cpu") -> Case:
    """L(W) and −∇L(W) of the population, at the polar step of length √d."""
    problem = _problem(n_items, dim)
    emb, p = am.sample_embeddings(problem, 0, device), problem.frequencies
    W = dim**0.5 * am.polar(am.initial_gradient(emb, p))
    exact_loss, exact = am.loss_and_gradient(W, am.Embeddings(emb.U.double(), emb.V.double()), p)
    U, V, W32, q = emb.U, emb.V, W.float(), p.to(device, torch.float32)
    items = torch.arange(n_items, device=device)

    def by_autograd(loss_of):
        def call():
            weights = W32.clone().requires_grad_()
            value = loss_of(V @ weights.T)
            value.backward()
            return value.item(), -weights.grad

        return call

    def chunked():
        if not hasattr(torch.nn, "LinearCrossEntropyOptions"):
            raise ImportError(f"torch {torch.__version__} has no LinearCrossEntropyOptions")
        options = torch.nn.LinearCrossEntropyOptions()
        return by_autograd(lambda Z: F.linear_cross_entropy(Z, U, items, weight=q, reduction="sum", options=options))

    def reference():
        if not hasattr(F, "linear_cross_entropy"):
            raise ImportError(f"torch {torch.__version__} has no F.linear_cross_entropy")
        return by_autograd(lambda Z: F.linear_cross_entropy(Z, U, items, weight=q, reduction="sum"))

    def cut():
        from cut_cross_entropy import linear_cross_entropy

        impl = "torch_compile" if device == "cpu" else "cce"
        return by_autograd(lambda Z: q @ linear_cross_entropy(Z, U, items, reduction="none", impl=impl))

    def attention():
        def call():
            Z = (V @ W32.T)[None, None]
            expected = F.scaled_dot_product_attention(Z, U[None, None], U[None, None], scale=1.0)[0, 0]
            return None, (q[:, None] * (U - expected)).T @ V

        return call

    def products(product, height, width):
        def call():
            Z, sums = V @ W32.T, torch.zeros_like(V)
            for rows in range(0, n_items, height):
                for start in range(0, n_items, width):
                    scores = product(Z[rows : rows + height], U[start : start + width])
                    sums[rows : rows + height].addmm_(scores, U[start : start + width])
            return sums

        return call

    def compare(result):
        value, G = result
        off = 0.0 if value is None else abs(value / exact_loss - 1)
        return max(off, (torch.linalg.norm(G.double() - exact) / torch.linalg.norm(exact)).item())

    naive = lambda Z: q @ F.cross_entropy(Z @ U.T, items, reduction="none")
    ways = {
        "autograd of F.cross_entropy": lambda: by_autograd(naive),
        "F.linear_cross_entropy": reference,
        "F.linear_cross_entropy, chunked": chunked,
        "cut-cross-entropy": cut,
        "F.scaled_dot_product_attention": attention,
    }
    height, width = (512, 1024) if device == "cpu" else (8192, 8192)
    return Case(
        f"loss-and-gradient-{n_items}-{dim}",
        f"L(W) and its gradient, N = {n_items}, d = {dim} (attention gives the gradient alone)",
        (
            Entry("amemlib loss_and_gradient", lambda: lambda: am.loss_and_gradient(W, emb, p), compare, 1e-5),
            *(Entry(name, prepare, compare, 1e-3) for name, prepare in ways.items()),
            Entry("its two products, torch.mm", lambda: products(lambda A, B: A @ B.T, height, width)),
        ),
    )


def polar_factor(dim: int, condition: float, device: str = "cpu") -> Case:
    """The polar factor of a matrix of known factors: by products, as on a GPU, and by LAPACK's or cuSOLVER's SVD."""
    generator = torch.Generator().manual_seed(0)
    P, Q = (torch.linalg.qr(torch.randn(dim, dim, dtype=torch.float64, generator=generator).to(device)).Q for _ in "PQ")
    s = torch.logspace(0, -math.log10(condition), dim, dtype=torch.float64, device=device)
    G, truth = P * s @ Q.T, P @ Q.T
    # Frobenius over √d would be a mean: this bounds the spectral norm
    compare = lambda W: torch.linalg.norm(W - truth)

    def by_svd():
        left, _, right = torch.linalg.svd(G, full_matrices=False)
        return left @ right

    return Case(
        f"polar-{dim}",
        f"polar factor at d = {dim} and condition {condition:.0e}; off by the Frobenius norm",
        (
            Entry("amemlib polar_by_products", lambda: lambda: am.spectral.polar_by_products(G), compare, 1e-6),
            Entry("torch.linalg.svd and a product", lambda: by_svd, compare, 1e-6),
        ),
    )


def spectral_maps(dim: int, n_items: int, device: str = "cpu") -> Case:
    """The polar factor of a power-law gradient, what stands for it elsewhere, and eight values of λ."""
    problem = _problem(n_items, dim)
    emb = am.sample_embeddings(problem, 0, device)
    G = am.initial_gradient(emb, problem.frequencies)
    W, shipped = am.polar(G), am.newton_schulz(G, coefficients="jordan")
    s = torch.linalg.svdvals(G)
    lams = [am.theory.bulk_scale(n_items, dim, ALPHA) * 2.0**k for k in range(-4, 4)]
    smoothed = [lambda s, lam=lam: s / torch.hypot(s, s.new_tensor(lam)) for lam in lams]

    def lapack_and_product():
        P, _, Qh = torch.linalg.svd(G, full_matrices=False)
        return P @ Qh

    def scipy_polar():
        import scipy.linalg

        _needs_cpu(device)
        return lambda: torch.from_numpy(scipy.linalg.polar(G.numpy())[0])

    def torch_muon():
        if not hasattr(torch.optim, "Muon"):
            raise ImportError(f"torch {torch.__version__} has no optim.Muon")

        def call():
            weights = torch.nn.Parameter(torch.zeros(dim, dim, device=device))
            weights.grad = -G.float()
            torch.optim.Muon([weights], lr=1.0, momentum=0.0, weight_decay=0.0).step()
            return weights.detach()

        return call

    def optax_muon():
        import jax
        import jax.numpy as jnp
        import optax

        _needs_cpu(device)
        zero, muon, gradient = jnp.zeros((dim, dim)), optax.contrib.muon(1.0, beta=0.0, weight_decay=0.0), G.float()
        update = jax.jit(muon.update)
        state = muon.init(zero)
        return lambda: torch.from_numpy(update(-jnp.asarray(gradient.numpy()), state, zero)[0].__array__().copy())

    def distance(to):
        return lambda X: torch.linalg.matrix_norm(X.double() - to, 2)

    exact = {
        "torch.linalg.svd and one product": lambda: lapack_and_product,
        "scipy.linalg.polar": scipy_polar,
        "amemlib polar_express": lambda: lambda: am.spectral.polar_express(G, smallest=0.9 * s[-1].item()),
    }
    iterations = {
        "amemlib newton_schulz, 5 steps": lambda: lambda: am.newton_schulz(G, coefficients="jordan"),
        "torch.optim.Muon, 5 steps": torch_muon,
        "optax muon, 5 steps": optax_muon,
    }
    return Case(
        f"spectral-maps-{dim}",
        f"polar(G) at d = {dim}; five shipped steps are another map, held to ours of that name (bfloat16: to 0.5)",
        (
            Entry("amemlib polar", lambda: lambda: am.polar(G), distance(W), 1e-9),
            Entry("torch.linalg.svd alone", lambda: lambda: torch.linalg.svd(G, full_matrices=False)),
            *(Entry(name, prepare, distance(W), 1e-9) for name, prepare in exact.items()),
            *(Entry(name, prepare, distance(shipped), 0.5) for name, prepare in iterations.items()),
            Entry("8 values of lambda, one SVD", lambda: lambda: list(am.spectral.spectral_maps(G, smoothed))),
            Entry("8 values of lambda, 8 SVDs", lambda: lambda: [am.smoothed_sign(G, lam) for lam in lams]),
        ),
    )


def minibatch(n_items: int, dim: int, batch_size: int, device: str = "cpu") -> Case:
    """−∇L at W = 0 on a batch: weighted distinct rows against a gather of all B rows."""
    problem = _problem(n_items, dim)
    emb = am.sample_embeddings(problem, 0, device)
    q = am.sample_minibatch(problem, batch_size, 0)
    seen = int((q > 0).sum())
    drawn = torch.repeat_interleave(torch.arange(n_items), (q * batch_size).round().long())
    drawn = drawn[torch.randperm(batch_size, generator=torch.Generator().manual_seed(0))].to(device)
    exact = am.initial_gradient(am.Embeddings(emb.U.double(), emb.V.double()), q)

    def gather(dtype):
        def call():
            mean, G = emb.U.to(dtype).mean(0), torch.zeros(dim, dim, dtype=dtype, device=device)
            for part in drawn.split(65536):
                G += (emb.U[part].to(dtype) - mean).T @ emb.V[part].to(dtype)
            return G / batch_size

        return call

    compare = lambda G: torch.linalg.norm(G.double() - exact) / torch.linalg.norm(exact)
    return Case(
        f"minibatch-{n_items}-{dim}",
        f"gradient at W = 0 on a batch of {batch_size} ({seen} distinct items), N = {n_items}, d = {dim}",
        (
            Entry("amemlib initial_gradient", lambda: lambda: am.initial_gradient(emb, q), compare, 1e-12),
            Entry("gather B rows, float32", lambda: gather(torch.float32), compare, 1e-4),
            Entry("gather B rows, float64", lambda: gather(torch.float64), compare, 1e-12),
        ),
    )


def draw(n_items: int, batch_size: int) -> Case:
    """Drawing a batch: one multinomial draw of the counts, or B draws of an item each. Always on the CPU."""
    problem = _problem(n_items, 1)

    def multinomial():
        drawn = torch.multinomial(problem.frequencies, batch_size, replacement=True)
        return torch.bincount(drawn, minlength=n_items) / batch_size

    def compare(q):
        # two draws of one law: each of the ten most frequent items within five standard deviations
        return ((q - problem.frequencies) / problem.frequencies.sqrt())[:10].abs().max() * batch_size**0.5

    return Case(
        f"draw-{n_items}",
        f"drawing a batch of {batch_size} from N = {n_items}; off by standard deviations, the worst of ten items",
        (
            Entry("amemlib sample_minibatch", lambda: lambda: am.sample_minibatch(problem, batch_size, 0), compare, 5),
            Entry("torch.multinomial and bincount", lambda: multinomial, compare, 5),
        ),
    )


def products(size: int, device: str = "cpu") -> Case:
    """The machine's roofline: time per multiply-add of several matrix products, and per element of 2^x and e^x."""
    generator = torch.Generator().manual_seed(0)
    full = torch.randn(size, size, generator=generator).to(device)
    buffer = torch.empty_like(full)
    half, inner = size // 2, min(128, size)
    shapes = {f"float32, {m} x {k} x {n}": (m, k, n) for m, k, n in ((half, inner, half), (half, inner // 4, size))}
    work = size**3
    thin = {
        name: Entry(name, lambda m=m, k=k, n=n: lambda: full[:m, :k] @ full[:k, :n], share=m * k * n / work)
        for name, (m, k, n) in shapes.items()
    }

    def onednn():
        product = _onednn_product(device)
        return lambda: product(full, full)

    def openblas():
        _needs_cpu(device)
        array = full.numpy()
        return lambda: array @ array

    def as_type(dtype):
        def prepare():
            matrix = full.to(dtype)
            return lambda: matrix @ matrix

        return prepare

    return Case(
        "products",
        f"time for each multiply-add (for 2^x and e^x: each element), in units of torch.mm, float32, {size}^3",
        (
            Entry(f"float32, {size}^3", lambda: lambda: full @ full),
            *thin.values(),
            Entry("float32, numpy", openblas),
            Entry("float32, oneDNN", onednn),
            Entry("bfloat16, torch.mm", as_type(torch.bfloat16)),
            Entry("float64, torch.mm", as_type(torch.float64)),
            Entry("2^x, float32", lambda: lambda: torch.exp2(full, out=buffer), share=size**2 / work),
            Entry("e^x, float32", lambda: lambda: torch.exp(full, out=buffer), share=size**2 / work),
        ),
    )


def _problem(n_items: int, dim: int, uniform: bool = False) -> am.Problem:
    if uniform:
        return am.Problem.from_frequencies([1.0] * n_items, dim)
    return am.Problem.power_law(n_items, dim, ALPHA)


def _onednn_product(device: str):
    """A Bᵀ by oneDNN through torch's public interface, which copies what it returns."""
    _needs_cpu(device)
    if not torch.backends.mkldnn.is_available():
        raise ImportError("this torch was built without oneDNN")
    return lambda A, B: F.linear(A.contiguous().to_mkldnn(), B.contiguous().to_mkldnn()).to_dense()


def _bfloat16_product(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    if A.is_cuda:
        # a bfloat16 result would round once more, and let cuBLAS add its parts in bfloat16
        return torch.mm(A, B.T, out_dtype=torch.float32)
    return A.float() @ B.float().T


def _needs_cpu(device: str) -> None:
    if device != "cpu":
        raise NotImplementedError("it runs on the CPU")
