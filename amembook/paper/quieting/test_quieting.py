"""The mathematics of the study `quieting`: means, leverages, the rule, and what makes each verdict fail."""

import torch

import amemlib as am
from amembook.paper import quieting
from amembook.run.claims import NOT_REPRODUCED


def test_what_it_computes_is_what_its_docstring_says():
    problem = am.Problem.power_law(40, 6, 1.5)
    emb, p = am.sample_embeddings(problem, seed=3, dtype=torch.float64), problem.frequencies
    G = torch.einsum("k,ka,kb->ab", p, emb.U, emb.V)
    Sigma = torch.einsum("k,ka,kb->ab", p**2, emb.V, emb.V)
    W = G @ torch.linalg.inv(Sigma)
    means = torch.stack([p_j * W @ v for p_j, v in zip(p, emb.V, strict=True)])
    leverage = torch.stack([p_j**2 * v @ torch.linalg.solve(Sigma, v) for p_j, v in zip(p, emb.V, strict=True)])
    torch.testing.assert_close(leverage.sum(), torch.tensor(6.0, dtype=torch.float64))

    S = sum(x * (1 - x) * torch.outer(m, m) for x, m in zip(leverage, means, strict=True))
    inner = torch.eye(6, dtype=torch.float64) + 0.4 * 6 / S.trace() * S
    whole, quiet = quieting.quieted(W, means, leverage, (0.4,))
    assert torch.equal(whole, W)
    torch.testing.assert_close(quiet.T @ inner @ quiet, W.T @ W)

    measured = quieting.measure(6, 40, 1.5, [0.4], 2, 3, "cpu")
    assert measured == {
        "matched": int(am.recovered(W, emb).sum()),
        "quieted": int(am.recovered(quiet, emb).sum()),
        "strength": 0.4,
    }


REFUSED = [("dims", (64,), "one length")]
FEW, ENOUGH = "d = 256, N = 2048, α = 1.5", "d = 192, N = 16384, α = 1.5"
FLAWS = [
    (("gain", FEW), lambda gain: [-x for x in gain], "few", NOT_REPRODUCED),
    (("gain", ENOUGH), lambda gain: [x + 0.03 for x in gain], "enough", NOT_REPRODUCED),
]
