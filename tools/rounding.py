"""Runs notebooks as another machine would, and names every cell whose text is not the stored one.

Another machine is rounding noise (`--noise SEED`: what processors round each in its own way comes out an ulp higher or
lower) or other kernels of this one (`--setting NAME`). A cell tagged `exact` is compared too, but runs without noise.
`--tests` runs the tests there instead; `--log FILE` keeps what was found, a line a machine.
"""

import argparse
import ast
import builtins
import contextlib
import csv
import functools
import importlib.machinery
import io
import math
import multiprocessing
import os
import random
import re
import subprocess
import sys
import types
from collections.abc import Callable
from datetime import date
from importlib import import_module
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path

import nbformat
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("chapters", "companions")
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
SETTINGS = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "smallest": {
        "ATEN_CPU_CAPABILITY": "default",
        "OPENBLAS_CORETYPE": "Nehalem",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4",
    },
    "threads2": dict.fromkeys(THREADS, "2"),
}
"""A name that a library does not know it ignores in silence: NumPy's are those of the pinned release."""

# What processors add up in another order, or take apart by other rotations: an ulp on what goes in.
DECOMPOSITIONS = """svd svdvals eigh eigvalsh eig eigvals qr solve lstsq inv pinv cholesky det slogdet norm expm sqrtm
logm polar cho_factor cho_solve solve_triangular"""
SUMS = {
    "torch": """mm bmm mv dot vdot addmm addmv baddbmm convolution sum mean cumsum var std var_mean logsumexp geqrf
ormqr cholesky_solve triangular_solve _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data
native_layer_norm nll_loss_forward _cdist_forward _scaled_dot_product_flash_attention_for_cpu _fft_r2c _fft_c2c""",
    "numpy": "dot matmul vdot inner tensordot einsum trapezoid polyfit corrcoef cov convolve",
    "numpy.linalg": DECOMPOSITIONS,
    "scipy.linalg": DECOMPOSITIONS,
}
# What they approximate by other polynomials: an ulp on what comes out.
VALUES = {
    "torch": """exp exp2 expm1 log log1p log2 log10 pow sin cos tan tanh atan sigmoid erf erfc erfinv lgamma digamma
rsqrt softplus silu gelu special_log_ndtr special_ndtri randn normal""",
    "numpy": "exp exp2 expm1 log log1p log2 log10 power sin cos tan tanh logaddexp",
    "scipy.special": "erf erfc erfinv ndtr ndtri log_ndtr gammaln digamma zeta expit",
    "math": "exp expm1 log log1p sin cos",
}


class Noise(TorchDispatchMode):
    """Within it floating-point numbers are multiplied at random by 1 - ε, 1 or 1 + ε, the ε of their own precision.

    Half precisions, whose products are added up in single, by 1 but for one entry in 64.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.depth, self.chance, generator = 0, random.Random(seed), torch.Generator().manual_seed(seed)
        ulps = torch.randint(-1, 2, (1 << 22,), generator=generator).double()
        rare = ulps * (torch.rand(ulps.shape, generator=generator) < 1 / 64)
        self.factors = {
            dtype: (1 + torch.finfo(dtype).eps * (rare if dtype.itemsize == 2 else ulps)).to(dtype)
            for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16)
        }
        singles, doubles = (self.factors[dtype].numpy() for dtype in (torch.float32, torch.float64))
        self.arrays = {"f4": singles, "c8": singles, "f8": doubles, "c16": doubles}
        self.sums, self.values = (set(names["torch"].split()) for names in (SUMS, VALUES))
        self.others: set = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and Dynamo takes seconds to load

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name, kwargs = function.overloadpacket.__name__, kwargs or {}
        base = name.rstrip("_")
        if base in self.values or function._schema.is_mutable:
            result = function(*args, **kwargs)
            if {name, base} & (self.values | self.sums):
                result.copy_(self.moved(result))
            return result
        if name in self.sums or "linalg" in name:
            return function(*self.summands(args), **kwargs)
        if function not in self.others:
            # inference mode leaves whole what is otherwise taken apart before it comes here
            with self:
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
            self.others.add(function)
        return function(*args, **kwargs)

    def __enter__(self):
        self.depth += 1
        return super().__enter__()

    def __exit__(self, *error) -> None:
        self.depth -= 1
        super().__exit__(*error)

    def moved(self, x):
        """`x` with every floating-point number in it moved; anything else as it is."""
        if isinstance(x, np.ndarray | np.floating):
            factors = self.arrays.get(x.dtype.str[1:])
            return x if factors is None else x * self._some(factors, x.shape)
        if isinstance(x, torch.Tensor):
            inexact = x.is_floating_point() or x.is_complex()
            return x * self._some(self.factors[x.real.dtype], x.shape) if inexact else x
        if type(x) in (list, tuple):
            return type(x)(self.moved(y) for y in x)
        return x * float(self._some(self.arrays["f8"], ())) if type(x) is float else x

    def summands(self, args: tuple) -> tuple:
        """The arguments of a sum, all moved but the last: of a product one factor is enough."""
        return (*self.moved(args[:-1]), args[-1]) if len(args) > 1 else self.moved(args)

    def _some(self, factors: torch.Tensor | np.ndarray, shape: tuple[int, ...]) -> torch.Tensor | np.ndarray:
        number = math.prod(shape)
        if number > len(factors):
            factors = factors.repeat(number // len(factors) + 1)
        start = int(self.chance.random() * (len(factors) - number))
        return factors[start : start + number].reshape(shape)


def install(noise: Noise) -> None:
    """Bring `noise` into NumPy, SciPy and math, and into the operators of all code that is imported from now on.

    Outside the context `noise` they do what they did.
    """

    def noisy_sum(function: Callable, *args, **kwargs):
        return function(*(noise.summands(args) if noise.depth else args), **kwargs)

    def noisy_value(function: Callable, *args, **kwargs):
        value = function(*args, **kwargs)
        return noise.moved(value) if noise.depth else value

    for table, noisy in ((SUMS, noisy_sum), (VALUES, noisy_value)):
        for module, names in table.items():
            for name in names.split() if module != "torch" else ():
                if function := getattr(import_module(module), name, None):
                    replaced = functools.update_wrapper(functools.partial(noisy, function), function)
                    # np.power.outer and its like do without noise
                    vars(replaced).update((key, getattr(function, key)) for key in dir(function) if key[0] != "_")
                    setattr(sys.modules[module], name, replaced)

    def product(a, b):
        return (noise.moved(a) if noise.depth and isinstance(a, np.ndarray) else a) @ b

    def power(a, b):
        return noise.moved(a**b) if noise.depth and isinstance(a, np.ndarray) and type(b) is not int else a**b

    builtins.noisy_product, builtins.noisy_power = product, power
    stored = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, fullname):
        path = Path(loader.path)
        if path.is_relative_to(ROOT) and "site-packages" not in path.parts:
            return compiled(ast.parse(path.read_text(encoding="utf-8")), loader.path)
        return stored(loader, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code


class _Operators(ast.NodeTransformer):
    """NumPy's operators cannot be replaced as its functions can, so functions stand for them."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.MatMult: "noisy_product", ast.Pow: "noisy_power"}.get(type(node.op))
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node)) if name else node


def compiled(tree: ast.AST, name: str, mode: str = "exec") -> types.CodeType:
    """The code object of a tree, with the operators of `install` if there are any."""
    return compile(_Operators().visit(tree) if hasattr(builtins, "noisy_product") else tree, name, mode)


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    """A notebook's code cells, without the one for Colab."""
    cells = nbformat.read(path, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code" and "colab" not in cell.metadata.get("tags", [])]


def stored_text(cell: nbformat.NotebookNode) -> str:
    """What a cell printed, with its last expression's value; pictures apart."""
    shown = {"stream": lambda output: output.text, "execute_result": lambda output: output.data["text/plain"] + "\n"}
    return "".join(shown[output.output_type](output) for output in cell.outputs if output.output_type in shown)


def printed_text(source: str, space: dict) -> str:
    """What a cell prints when it is executed in `space`, with the error that stops it."""
    body, text = ast.parse(source).body, io.StringIO()
    last = [body.pop()] if body and isinstance(body[-1], ast.Expr) and source.rstrip()[-1] != ";" else []
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            exec(compiled(ast.Module(body, []), "<cell>"), space)
            # alone in this mode a value is shown
            exec(compiled(ast.Interactive(last), "<cell>", "single"), space)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return text.getvalue()


def differences(path: Path, noise: Noise | None) -> tuple[int, list[str]]:
    """Executes a notebook here: the number of its cells, and a line for every one whose text is not the stored one."""
    import matplotlib.pyplot as plt

    plt.show = lambda *_, **__: plt.close("all")
    os.chdir(path.parent)
    sys.modules["__main__"], differing = types.ModuleType("__main__"), []
    for i, cell in enumerate(cells := code_cells(path), 1):
        with noise if noise and "exact" not in cell.metadata.get("tags", []) else contextlib.nullcontext():
            printed = printed_text(cell.source, vars(sys.modules["__main__"]))
        if printed != (stored := stored_text(cell)):
            lines = [(a, b) for a, b in zip_longest(stored.splitlines(), printed.splitlines()) if a != b]
            differing.append(f"cell {i} stores {[a for a, _ in lines]}, prints {[b for _, b in lines]}")
    return len(cells), differing


def in_a_child(*args) -> tuple[int, list[str]]:
    """`differences` in a process that is forked from this one, so that what is loaded here need not be loaded again."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=lambda: sender.send(differences(*args)))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return 0, ["its process died"]
    finally:
        child.join()


def run_tests() -> tuple[int, int]:
    """How many tests ran here, and how many of them failed; those that open pages know no arithmetic."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--ignore=tests/test_pages.py"]
    # a kernel that a test starts shows its pictures
    os.environ.pop("MPLBACKEND", None)
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    numbers = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", run.stdout.splitlines()[-1])}
    print(*[line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))], sep="\n")
    return sum(numbers.values()), sum(numbers.values()) - numbers.get("passed", 0)


def log(path: Path, machine: str, what: str, total: int, differ: int) -> None:
    """Put a line for `what` on `machine` into the table `path`, in the place of the one that it has."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    commit = subprocess.run(git, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    row = {"machine": machine, "what": what, "total": total, "differ": differ, "date": date.today(), "commit": commit}
    row |= {name: version(name) for name in ("amemlib", "torch", "numpy", "scipy")}
    with path.open(encoding="utf-8", newline="") if path.exists() else io.StringIO() as file:
        others = [one for one in csv.DictReader(file) if (one["machine"], one["what"]) != (machine, what)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, row])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", type=Path, help=f"folders or notebooks; if none, {' and '.join(FOLDERS)}")
    parser.add_argument("--noise", type=int, metavar="SEED", help="round by chance")
    parser.add_argument("--setting", choices=SETTINGS, help="other kernels, or other threads")
    parser.add_argument("--tests", action="store_true", help="run the tests, not the notebooks")
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep what was found in this table")
    args = parser.parse_args()
    wanted = dict.fromkeys(THREADS, "1") | {"MPLBACKEND": "agg", "AMEM_PROFILE": "cpu"} | SETTINGS.get(args.setting, {})
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        # libraries read them when they are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | wanted)
    sys.stdout.reconfigure(line_buffering=True)  # a fork would write again what is still kept
    machine = f"noise {args.noise}" if args.noise is not None else args.setting or "as it is"
    if args.tests:
        total, differ = run_tests()
        print(f"{total} tests, {differ} failed")
        if args.log:
            log(args.log, machine, "tests", total, differ)
        return 1 if differ else 0
    places = [place.resolve() for place in args.places] or [ROOT / name for name in FOLDERS]
    paths = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.ipynb")))]
    with contextlib.suppress(ImportError):
        import_module("ml_dtypes")  # JAX's: it looks for NumPy's own functions, which `install` replaces
    if noise := None if args.noise is None else Noise(args.noise):
        install(noise)
    for module in ("scipy.stats", "scipy.optimize", "matplotlib.pyplot"):
        import_module(module)
    cells, differ = 0, 0
    for path in (bar := tqdm(paths)):
        bar.set_description(path.stem)
        number, differing = in_a_child(path, noise)
        cells, differ = cells + number, differ + len(differing)
        for line in differing:
            tqdm.write(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}: {line}")
    print(f"{cells} cells, {differ} differ")
    if args.log:
        log(args.log, machine, "cells", cells, differ)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
