"""`python -m amemlib doctor FILE`: `diagnose` for the momenta in a checkpoint. Nothing is executed from a pickle."""

import argparse
import itertools
import json
import math
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from amemlib.spectral import newton_schulz_schedule
from amemlib.training.diagnosis import MOMENTA, Diagnoses, diagnose, momentum_of

_FORMATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_FORMATS |= {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
MEANING = """
reach    slope of the schedule at 0 × median singular value ÷ ‖M‖_F;
         five steps on white noise d × d have 392 ÷ √d
lifted   share of the directions with a singular value above ‖M‖_F ÷ slope:
         reach > 1 means more than half
lift     ‖O‖_F² ÷ min(m, n) of what the schedule makes of M; then the same
         over the mean of what is lifted
rank     directions above a gap that ends at rounding; the others are dropped
stable   ‖M‖_F² ÷ largest value²
noise    median singular value over that of white noise of this shape and norm
signal   share of ‖M‖_F² that two half batches have in common; needs --other
What a longer schedule can gain, from one language model of width 64 (records
of knee; chapter "Why training may not notice"), of what orthogonalizing gains:
at a reach of 3 nothing was seen; from 3 down to 1 up to a tenth (after 800
steps 96% kept at 1.2); down to 0.3 up to four tenths (59% at 0.32); below, it
depends on the length of the run: 56% kept at 0.13 after 200 steps, 9% at 0.07
after 800. Whether a direction below the reach is worth lifting no spectrum
says; where `signal` is small most of it is batch noise."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command. The exit status: 0; 2 with one line on stderr for bad input."""
    try:
        options = _parser().parse_args(arguments)
        found, plain = _examine(options)
        rows = ",\n ".join(map(json.dumps, found.as_dicts()))
        print(f"[{rows}]" if options.json else f"{found.table(options.reach)}\n{MEANING}")
        for path in plain:
            print(f"amemlib: {path} holds no optimizer's state: its tensors are taken as they are", file=sys.stderr)
    except (ValueError, TypeError, OSError, MemoryError, RuntimeError) as error:
        print(f"amemlib: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
        return 2
    return 0


def read_matrices(path: str) -> tuple[dict[str, Tensor], bool]:
    """The momenta of every optimizer state in a file, by the names of their parameters; and whether there is a state.

    path: what torch.save wrote, read with weights_only, or a .safetensors file. Where no optimizer's state is found,
    every floating-point tensor counts: a file of gradients, of momenta, or of weights.
    Names are the state's `param_names` where it has them, else the place in the file and the parameter's number.
    Raises `ValueError` with the file's name for what cannot be read.
    """
    loaded = _read_safetensors(path) if str(path).endswith(".safetensors") else _read_torch(path)
    found = [one for one in _walk((), loaded) if one[1].is_floating_point()]
    states = [one for one in found if one[2]]
    found = [one for one in states or found if one[1].ndim > 1]
    if not found:
        raise ValueError(f"{path} holds no {'momentum' if states else 'tensor'} of numbers with two dimensions or more")
    often = Counter(name for name, *_ in found)
    return {name if often[name] == 1 else f"{place}.{name}": X for name, X, _, place in found}, bool(states)


def _examine(options: argparse.Namespace) -> tuple[Diagnoses, list[str]]:
    schedules = options.schedule or ["jordan"]
    for name in schedules:
        newton_schulz_schedule(name)
    if options.other and len(options.files) > 1:
        raise ValueError(f"--other must be given with one file, got {len(options.files)}")
    of_files = {path: read_matrices(path) for path in options.files}
    named = lambda path, name: f"{path}: {name}" if len(of_files) > 1 else name
    matrices = {named(path, name): X for path, (found, _) in of_files.items() for name, X in found.items()}
    theirs = read_matrices(options.other)[0] if options.other else None
    cut = {key: dict(_cut(key, text, matrices) for text in getattr(options, key)) for key in ("split", "heads")}
    try:
        found = diagnose(matrices, schedules, theirs, **cut, progress=lambda line: print(line, file=sys.stderr))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{', '.join([*of_files, *[options.other] * bool(theirs)])}: {error}") from None
    return found, [path for path, (_, of_state) in of_files.items() if not of_state]


def _walk(place: tuple[str, ...], node) -> Iterator[tuple[str, Tensor, bool, str]]:
    """The tensors in what was loaded: name, tensor, whether it is a momentum, and where it stands."""
    where = ".".join(place)
    if isinstance(node, Tensor):
        yield where or "matrix", node, not {*MOMENTA}.isdisjoint(where.split(".")), where
    elif isinstance(node, Mapping) and isinstance(node.get("state"), Mapping) and "param_groups" in node:
        groups = [group for group in node["param_groups"] or () if isinstance(group, Mapping)]
        numbered = [zip(group.get("params", ()), group.get("param_names") or (), strict=False) for group in groups]
        names = dict(itertools.chain(*numbered))
        for key, state in node["state"].items():
            if isinstance(state, Mapping) and (M := momentum_of(state)) is not None:
                yield str(names.get(key, ".".join((*place, str(key))))), M, True, where
    elif isinstance(node, Mapping | list | tuple):
        for key, value in node.items() if isinstance(node, Mapping) else enumerate(node):
            yield from _walk((*place, str(key)), value)


def _read_torch(path: str):
    try:
        # mapped, so that of a large checkpoint only the momenta are read
        return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except OSError:
        raise
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        why = f"{type(error).__name__} in torch.load"
        if asked := re.search(r"GLOBAL (\S+)", str(error)):
            why = f"it asks for {asked[1]}, and no code of a file is run"
        raise ValueError(f"{path} cannot be read: {why}; save tensors, as state_dict() has them") from None


def _read_safetensors(path: str) -> dict[str, Tensor]:
    """The plain format: eight bytes with the length of a JSON header, it, and the numbers; integers are left out."""
    raw = torch.from_file(str(path), size=Path(path).stat().st_size, dtype=torch.uint8)
    tensors, key = {}, "header"
    try:
        start = 8 + int.from_bytes(bytes(raw[:8].tolist()), "little")
        for key, entry in json.loads(bytes(raw[8:start].tolist())).items():
            if key != "__metadata__" and entry["dtype"] in _FORMATS:
                dtype, (first, last) = getattr(torch, _FORMATS[entry["dtype"]]), entry["data_offsets"]
                size, rest = math.prod(entry["shape"]) * dtype.itemsize, len(raw) - start
                if not 0 <= first <= last <= rest or last - first != size:
                    raise ValueError(f"shape {entry['shape']} does not fit bytes {first} to {last} of {rest}")
                # a copy, for a view needs an address that is a multiple of the number's size
                tensors[key] = raw[start + first : start + last].clone().view(dtype).reshape(entry["shape"])
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be read: {key}: {error}") from None
    return tensors


def _cut(option: str, text: str, matrices: Mapping) -> tuple[str, int | tuple[int, ...]]:
    """A piece of names and their parts, from qkv=3, qkv=512,64,64 or, for all, 3."""
    piece, _, numbers = text.rpartition("=")
    if not re.fullmatch(r"\d+" if option == "heads" else r"\d+(,\d+)*", numbers):
        rows = "" if option == "heads" else ", NAME=ROWS,ROWS,…"
        raise ValueError(f"--{option} must be NAME=NUMBER{rows} or NUMBER, got {text!r}")
    if not any(piece in name for name in matrices):
        raise ValueError(
            f"--{option} must name a matrix, got {piece!r}, which is in none of {', '.join(matrices)}"[:400]
        )
    return piece, tuple(map(int, numbers.split(","))) if "," in numbers else int(numbers)


def _parser() -> argparse.ArgumentParser:
    text = "Reach, lifted share, rank and noise of the momenta in checkpoints. The studies: python -m amembook."
    parser = argparse.ArgumentParser(prog="python -m amemlib", description=text)
    # one line, without the usage before it
    parser.error = lambda message: parser.exit(2, f"amemlib: {' '.join(message.split())}\n")
    several = {"nargs": "+", "action": "extend"}
    parser.add_argument("command", choices=["doctor"])
    parser.add_argument("files", nargs="+", metavar="FILE", help=".pt, .pth or .safetensors")
    parser.add_argument("--schedule", **several, metavar="NAME", help="default: jordan")
    parser.add_argument("--split", **several, default=[], metavar="NAME=PARTS", help="qkv=3, or rows: qkv=512,64,64")
    parser.add_argument("--heads", **several, default=[], metavar="NAME=NUMBER", help="cuts each part again: qkv=12")
    parser.add_argument("--other", metavar="FILE", help="the same momenta from another half batch")
    parser.add_argument("--reach", type=float, metavar="X", help="tell the shortest schedule that reaches so far")
    parser.add_argument("--json", action="store_true", help="print a list of objects instead of a table")
    return parser
