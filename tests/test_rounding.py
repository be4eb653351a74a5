"""The rounding noise is real: it is found wherever rounding grows into what is printed, and nowhere else."""

import subprocess
import sys

import nbformat
import pytest
import rounding

CHAOTIC = {
    "products of double precision": """\
import torch
A, x = 3 * torch.eye(8, dtype=torch.float64) - 0.7, torch.linspace(0, 1, 8, dtype=torch.float64)
for _ in range(300):
    x = torch.sin(A @ x)
print(f"{x[0]:.3f}")
""",
    "products in inference mode": """\
import torch
A, x = 3 * torch.eye(8) - 0.7, torch.linspace(0, 1, 8)
with torch.inference_mode():
    for _ in range(300):
        x = torch.nn.functional.linear(x, A).sin()
print(f"{x[0]:.3f}")
""",
    "gradients under vmap": """\
import torch
A = 3 * torch.eye(8, dtype=torch.float64) - 0.7
step = torch.vmap(torch.func.grad(lambda x: (-(A @ x).cos()).sum()))
x = torch.linspace(0, 1, 24, dtype=torch.float64).view(3, 8)
for _ in range(300):
    x = step(x)
print(f"{x[0, 0]:.3f}")
""",
    "an operator of NumPy": """\
import numpy as np
x = np.linspace(0.1, 0.9, 4)
for _ in range(300):
    x = 3.9 * (np.eye(4) @ x) * (1 - x)
x[0].round(3)
""",
    "a function of SciPy": """\
from scipy.special import ndtr
x = 0.3
for _ in range(300):
    x = 3.9 * ndtr(x) * (1 - x) % 1
print(f"{x:.3f}")
""",
    "a residual": """\
import torch
A = torch.linspace(1, 2, 36, dtype=torch.float64).view(6, 6).sin() + torch.eye(6, dtype=torch.float64)
print(f"{torch.dist(A @ torch.linalg.inv(A), torch.eye(6, dtype=torch.float64)):.1e}")
""",
}
STABLE = {
    "torch": """\
import torch
A = (torch.linspace(0, 1, 64, dtype=torch.float64).view(8, 8).sin() + torch.eye(8)).requires_grad_()
torch.linalg.svdvals(A).sum().backward()
print(f"{A.grad[0, 0]:.4f} {torch.vmap(torch.trace)(A.detach().expand(3, 8, 8))[0]:.4f}")
""",
    "NumPy and SciPy": """\
import numpy as np
from scipy.special import log_ndtr
print(f"{np.linalg.norm(np.arange(4.0) @ np.ones((4, 4)) ** 0.5):.4f} {np.power.outer(2, 3)} {log_ndtr(-1.0):.4f}")
""",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The cells that noise finds in a notebook whose stored text is that of a run without."""
    path, cells = tmp_path_factory.mktemp("noise") / "cells.ipynb", []
    sources = {**CHAOTIC, **STABLE, "exact": CHAOTIC["products of double precision"]}
    for name, source in sources.items():
        output = nbformat.v4.new_output("stream", text=rounding.printed_text(source, {}))
        cells.append(nbformat.v4.new_code_cell(source, outputs=[output], metadata={"tags": [name]}))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    command = [sys.executable, rounding.__file__, "--noise", "1", str(path)]
    *lines, last = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    assert last == f"{len(cells)} cells, {len(lines)} differ" and not any("Error" in line for line in lines), lines
    return {name for i, name in enumerate(sources, 1) if any(f": cell {i} stores" in line for line in lines)}


@pytest.mark.process
@pytest.mark.parametrize("name", CHAOTIC)
def test_what_hangs_on_rounding_is_found(found, name):
    assert name in found


@pytest.mark.process
def test_what_is_stable_or_exact_is_not(found):
    assert found <= set(CHAOTIC)


def test_a_cell_prints_what_a_kernel_shows():
    assert rounding.printed_text("x = 2\nprint(x)\nx + 1", {}) == "2\n3\n"
    assert rounding.printed_text("x = 2\nx;", {}) == rounding.printed_text("", {}) == ""
    assert rounding.printed_text("print(1)\n1 / 0", {}) == "1\nZeroDivisionError: division by zero\n"
