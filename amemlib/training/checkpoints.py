"""The momenta in what people have: files and folders of torch, accelerate, transformers, safetensors and optax."""

import json
import math
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import numpy as np
import torch

from amemlib.training.diagnosis import MOMENTA, SECOND
from amemlib.training.unpickling import (
    Inert,
    Stored,
    children,
    is_folder_of_torch,
    read_archive,
    read_distributed,
    stored_array,
    stored_tensor,
)

_FORMATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32"}
_FORMATS |= {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "I16": "int16", "I8": "int8", "U8": "uint8"}
_ENDINGS = {".pt", ".pth", ".bin", ".ckpt", ".safetensors", ".npz", ".msgpack"}
_STEPS = {"step", "global_step", "iteration", "count"}
_FULL = "; save a whole state: get_optimizer_state_dict with StateDictOptions(full_state_dict=True), or a DCP folder"
_MODEL = re.compile(r"model|module|net|network|weights|(model_)?state_dict|model_state(_dict)?")


@dataclass(frozen=True)
class Momentum:
    """A momentum in a file: its parameter's name, where its numbers are, and the options of its group."""

    name: str
    stored: Stored
    group: Mapping = field(default_factory=dict)


@dataclass(frozen=True)
class Contents:
    """What a file holds. left: how many tensors are no rows, by reason; of_state: whether it has an optimizer's state.

    names: where the names come from if not from the state itself. step: the number of its last step, if it says so.
    """

    path: str
    momenta: tuple[Momentum, ...]
    left: Mapping[str, int]
    of_state: bool
    names: str = ""
    step: int | None = None


def read_contents(path: str, keys: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Contents:
    """The momenta in a file or folder, whose numbers are read later, one matrix at a time.

    keys: further names of a momentum in a state, before `MOMENTA`. names: patterns, of which one must fit.
    A momentum of Adam's, beside a second moment of its shape, is left out and counted, unless `keys` names it; so are
    vectors and what is not floating. Without an optimizer's state every floating-point tensor counts.
    Raises `ValueError`, which begins with the path, for what cannot be read or holds no matrix.
    """
    shown, inside = _open(path)
    return _contents(shown, inside, keys, names)


@dataclass(frozen=True)
class Weights:
    """What a file holds beside optimizers, by name, and all their momenta.

    left: how many tensors are left out, by reason. of_muon, of_adam: the momenta by kind. rates: those of the groups
    without a momentum of Muon's. step: as `Contents`.
    """

    weights: Mapping[str, Stored]
    left: Mapping[str, int]
    of_muon: tuple[Momentum, ...]
    of_adam: tuple[Momentum, ...]
    rates: frozenset[float]
    step: int | None = None


def read_weights(path: str, keys: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Weights:
    """The tensors of two dimensions or more in a file that are no optimizer's, those whose names fit a pattern."""
    shown, (leaves, states, step) = _open(path)
    found, left = {}, Counter()
    for place, stored in leaves:
        words = _words(place)
        inside = any(place[: len(node)] == node for node in states) or {*keys, *MOMENTA} & {*words}
        if inside or len(stored.shape) < 2 or math.prod(stored.shape) in stored.shape:
            continue
        name = ".".join(words[1:] if len(words) > 1 and _MODEL.fullmatch(words[0]) else words) or "matrix"
        if not _fits(name, names):
            continue
        if name in found:
            name = ".".join(words)
        if reason := _unreadable(stored):
            left[reason] += 1
        else:
            found[name] = stored
    if not found:
        raise ValueError(f"{shown} holds no matrix of weights")
    of_muon, every = (_momenta(shown, (leaves, states, step), of) for of in (keys, (*keys, *MOMENTA)))
    known = {id(one.stored) for one in of_muon}
    of_adam = tuple(one for one in every if id(one.stored) not in known)
    groups = [group for state in states.values() for group in _groups(state)]
    rates = [group.get("lr") for group in groups if not any(group is one.group for one in of_muon)]
    rates = frozenset(float(lr) for lr in rates if isinstance(lr, float | int))
    return Weights(found, left, of_muon, of_adam, rates, step)


def _momenta(path: str, inside: tuple, keys: tuple[str, ...]) -> tuple[Momentum, ...]:
    """Of an optimizer's state, Adam's only where `keys` names them; none where there is no state."""
    try:
        content = _contents(path, inside, keys, ())
    except ValueError:
        return ()
    return content.momenta if content.of_state else ()


def _open(path: str) -> tuple[str, tuple]:
    """A path as it may be shown, and the leaves, states and last step of what is in it."""
    shown = path.encode("utf-8", "backslashreplace").decode()
    try:
        return shown, _leaves(_read(Path(path)))
    except FileNotFoundError:
        raise ValueError(f"{shown}: no such file") from None
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        why = " ".join(str(getattr(error, "strerror", None) or error).split())[:300] or type(error).__name__
        raise ValueError(f"{shown} cannot be read: {why}") from None


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, f"*{pattern}*") for pattern in patterns)


def _unreadable(stored: Stored) -> str:
    """Why a tensor is no matrix to look at, whatever its shape."""
    if not isinstance(stored.dtype, torch.dtype) or not stored.dtype.is_floating_point:
        return f"{str(stored.dtype).removeprefix('torch.')}, no floating point"
    return stored.reason


def _contents(path: str, inside: tuple, keys: tuple[str, ...], patterns: tuple[str, ...]) -> Contents:
    try:
        return _sorted_out(path, *inside, keys, patterns)
    except (TypeError, KeyError, AttributeError, RecursionError) as error:  # no state as torch writes it
        raise ValueError(f"{path} cannot be read: {type(error).__name__} in its state: {error}"[:400]) from None


def _sorted_out(path: str, leaves, states, step, keys: tuple[str, ...], patterns: tuple[str, ...]) -> Contents:
    kinds = (*keys, *MOMENTA)
    muon_of_optax = any("ns_coeffs" in _words(place) for place, _ in leaves)
    seconds = SECOND | ({"nu"} if muon_of_optax else set())
    shapes: dict[tuple, set] = {}
    for place, stored in leaves:
        shapes.setdefault(_words(place), set()).add(stored.shape)
    tables = {_words(place)[:-1]: stored for place, stored in leaves if _words(place)[-1] == "ns_coeffs"}
    best: dict[tuple, tuple] = {}
    for place, stored in leaves:
        words = _words(place)
        at = next((i for i in reversed(range(len(words))) if words[i] in kinds), None)
        if at is not None:
            # of one parameter's momenta the first kind
            rest = (*map(_hashable, place[:-1]), *words[:at], *words[at + 1 :])
            if rest not in best or kinds.index(words[at]) < kinds.index(best[rest][2][best[rest][3]]):
                best[rest] = (place, stored, words, at)
    if not best and (states or any("param_groups" in _words(place) for place, _ in leaves)):
        raise ValueError(_no_momentum(path, leaves, states))
    left, rows = Counter(), []
    source = best.values() if best else [(place, stored, _words(place), None) for place, stored in leaves]
    for place, stored, words, at in source:
        twins = () if at is None else [shapes.get((*words[:at], word, *words[at + 1 :]), ()) for word in seconds]
        if any(stored.shape in twin for twin in twins) and words[at] not in keys:
            vector = len(stored.shape) < 2 or math.prod(stored.shape) in stored.shape
            left[f"{'vectors' if vector else 'matrices'} of Adam's"] += 1
        else:
            rows.append((place, stored, words, at))
    of_model, named_by = _names_of_the_model(leaves, states, best.values()) if states else {}, ""
    found = []
    for place, stored, words, at in rows:
        if reason := _unreadable(stored):
            left[reason] += stored.reason != "" or at is not None
        elif len(stored.shape) < 2 or math.prod(stored.shape) in stored.shape:
            left["vectors"] += 1
        else:
            name, where, group = _called(place, words, at, states, tables)
            found.append((of_model.get(id(stored), name), where, stored, group))
    if of_model:
        named = sum(id(stored) in of_model for _, _, stored, _ in found)
        named_by = f"{named} of {len(found)} by shape and order from the model beside it"
    if not found:
        why = "; ".join(f"{count} {reason}" for reason, count in left.items())
        kind = "momentum" if best else "tensor"
        shards = _FULL * any("a shard" in reason for reason in left)
        why = f" ({why})" * bool(why) + shards
        raise ValueError(f"{path} holds no {kind} of two dimensions or more{why}")
    fit = [one for one in found if _fits(one[0], patterns)]
    if not fit:
        raise ValueError(f"{path}: --names must fit a matrix, got {', '.join(patterns)}, of {found[0][0]} …")
    momenta = [Momentum(name, stored, group) for name, (_, _, stored, group) in zip(_distinct(fit), fit, strict=True)]
    return Contents(path, tuple(momenta), {k: n for k, n in left.items() if n}, bool(best), named_by, step)


def _leaves(tree) -> tuple[list[tuple[tuple, Stored]], dict[tuple, dict], int | None]:
    """The tensors with their places, each container once; the optimizers' states with theirs; the last step's number.

    The number is the largest that is called a step in a state, as Adam's has one for each parameter, or else anywhere:
    a loop may count microbatches.
    """
    leaves, states, stack, seen, counts = [], {}, [((), tree)], set(), []
    while stack:
        place, node = stack.pop()
        if isinstance(node, torch.Tensor):
            node = stored_tensor(node)
        elif not isinstance(node, Inert):
            node = getattr(node, "stored", node)
            # an array of numpy or of JAX
            node = stored_array(np.asarray(node)) if hasattr(node, "__array__") else node
        if place and place[-1] in _STEPS:
            counts.append(("state" in place, node))
        if isinstance(node, Stored):
            leaves.append((place, node))
        elif isinstance(node, dict | list | tuple | Inert) and id(node) not in seen and len(place) < 200:
            seen.add(id(node))
            inside = children(node)
            if isinstance(inside.get("state"), dict) and "param_groups" in inside:
                states[place] = inside
            stack += [((*place, key), value) for key, value in reversed(list(inside.items()))]
    plain = lambda X: X.read and math.prod(X.shape) == 1 and not getattr(X.dtype, "is_complex", True)
    counts = [(own, X.read() if isinstance(X, Stored) and plain(X) else X) for own, X in counts]
    counts = [(own, float(x)) for own, x in counts if isinstance(x, int | float | torch.Tensor)]
    counts = [x for own, x in counts if own] or [x for _, x in counts]
    return leaves, states, int(max(counts)) if counts and math.isfinite(max(counts)) else None


def _hashable(key):
    return id(key) if isinstance(key, torch.Tensor | Stored | Inert) else key


def _words(place: tuple) -> tuple[str, ...]:
    """A place in words, with those of flat names that are joined by points or slashes."""
    text = (key if isinstance(key, str) else str(_hashable(key)) for key in place)
    return tuple(word for key in text for word in re.split(r"[./]", key))


def _groups(state: dict) -> list[dict]:
    groups = state["param_groups"]
    groups = children(groups).values() if isinstance(groups, dict | list | tuple | Inert) else ()
    return [group for group in groups if isinstance(group, dict)]


def _owner(place: tuple, states: dict) -> tuple | None:
    """Where the optimizer is whose state holds a place, the parameter's key there, its group's number, its own there.

    The two numbers are None where no group has the key.
    """
    node = max((p for p in states if place[: len(p) + 1] == (*p, "state")), key=len, default=None)
    if node is None or len(place) < len(node) + 3:
        return None
    key = place[len(node) + 1]
    for number, group in enumerate(_groups(states[node])):
        params = group.get("params")
        params = [*map(_hashable, params)] if isinstance(params, list | tuple) else []
        if _hashable(key) in params:
            return node, key, number, params.index(_hashable(key))
    return node, key, None, None


def _called(place: tuple, words: tuple[str, ...], at: int | None, states: dict, tables: dict) -> tuple[str, str, dict]:
    """A momentum's name, what tells it from another of that name, and the options of its group."""
    if owner := _owner(place, states):
        node, key, number, i = owner
        where = ".".join(map(str, map(_hashable, node)))
        group = _groups(states[node])[number] if number is not None else {}
        named = group.get("param_names")
        inner = [str(part) for part in place[len(node) + 2 : -1]] if number is None else []
        if isinstance(named, list | tuple) and i < len(named) and named[i] is not None:
            return str(named[i]), where, group
        if isinstance(key, str) and not inner:
            return key, where, group
        own = key if isinstance(key, int | str) else _hashable(key) if i is None else i
        return ".".join(filter(None, (where, str(own), *inner))), where, group
    if at is None:
        return ".".join(words) or "matrix", "", {}
    start, flat = ".".join(words[:at]), words[:at]
    if "state" in flat:
        start = ".".join(flat[flat.index("state") + 1 :])
    name = ".".join(words[at + 1 :]) or (start if "state" in flat else ".".join(words))
    table = tables.get(words[:at])
    return name or start, start, {"ns_coefficients": table.read().tolist()} if table is not None else {}


def _distinct(found: list[tuple]) -> list[str]:
    """Names of which no two are equal: with their optimizer, and then a number."""
    often = Counter(name for name, *_ in found)
    names = [f"{where}.{name}" if often[name] > 1 and where else name for name, where, *_ in found]
    again, numbers, taken = Counter(names), Counter(), set(names)
    for i, name in enumerate(names):
        while again[name] > 1 and names[i] in taken:
            numbers[name] += 1
            names[i] = f"{name} ({numbers[name]})"
        taken.add(names[i])
    return names


def _no_momentum(path: str, leaves: list, states: dict) -> str:
    seen = Counter(_words(place)[-1] for place, _ in leaves if "state" in _words(place)[:-1])
    if not seen:
        return f"{path}: its optimizer is before its first step: save after one"
    keys = ", ".join(list(seen)[:8])
    return f"{path}: no momentum in its optimizer; found {keys}: name one by --key"


def _top_of_the_model(leaves: list, states: dict) -> str | None:
    tops = [p[0] for p, _ in leaves if p and not any(p[: len(node)] == node for node in states)]
    return next((t for t in dict.fromkeys(tops) if isinstance(t, str) and _MODEL.fullmatch(t)), None)


def _names_of_the_model(leaves: list, states: dict, momenta) -> dict[int, str]:
    """Names for numbered momenta: where one group holds all of a shape, in the order of the model's matrices."""
    model: dict[tuple, dict] = {}
    top = _top_of_the_model(leaves, states)
    for place, stored in leaves:
        if top is not None and place[0] == top and len(stored.shape) > 1:
            # tied weights are one parameter
            tied = stored.place or (id(stored),)
            model.setdefault(stored.shape, {}).setdefault(tied, ".".join(map(str, place[1:])))
    ours: dict[tuple, list] = {}
    for place, stored, *_ in momenta:
        node, key, number, _ = _owner(place, states) or (None,) * 4
        if number is None or not isinstance(key, int) or _groups(states[node])[number].get("param_names"):
            return {}
        ours.setdefault(stored.shape, []).append((node, number, key, stored))
    names = {}
    for shape, found in ours.items():
        known = list(model.get(shape, {}).values())
        if len(known) == len(found) and len({one[:2] for one in found}) == 1:
            names |= {id(one[3]): name for one, name in zip(sorted(found, key=lambda x: x[2]), known, strict=True)}
    return names


# files and folders


def _read(path: Path):
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return _read_folder(path)
    if not stat.S_ISREG(mode):
        raise ValueError("it is no regular file")
    with open(path, "rb") as file:
        head = file.read(8)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.name.endswith(".index.json"):
        files = {Path(name).name for name in json.loads(path.read_text())["weight_map"].values()}
        return {key: value for name in sorted(files) for key, value in _read(path.parent / name).items()}
    if path.suffix == ".msgpack":
        return _read_message(path)
    if head.startswith(b"\x93NUMPY") or path.suffix == ".npz":
        return _read_numpy(path)
    if not head.startswith((b"PK", b"\x80")):
        raise ValueError("no .pt, .safetensors, .npz, .msgpack or pickle")
    return read_archive(str(path))


def _read_folder(path: Path):
    if is_folder_of_torch(path):
        return read_distributed(path)
    if any((path / name).exists() for name in ("_CHECKPOINT_METADATA", "manifest.ocdbt", "_METADATA")):
        try:
            orbax = import_module("orbax.checkpoint")
        except ImportError:
            raise ValueError("pip install orbax-checkpoint, or save .npz") from None
        return orbax.PyTreeCheckpointer().restore(path.absolute())
    inside = sorted(path.iterdir())
    found = [p for p in inside if "optim" in p.name and (p.suffix in _ENDINGS or p.is_dir() and is_folder_of_torch(p))]
    found = found or [p for p in inside if p.suffix == ".safetensors"]
    if not found:
        seen = ", ".join(p.name for p in inside[:6])
        raise ValueError(f"a folder without .metadata, optimizer*.pt or .safetensors, but {seen or 'nothing'}")
    trees = {p.name: _read(p) for p in found}
    models = [p for p in inside if p.name in ("model.safetensors", "pytorch_model.bin", "model.pt")]
    trees |= {"model": _read(models[0])} if models and models[0].name not in trees else {}
    return trees if len(trees) > 1 else next(iter(trees.values()))


def _read_safetensors(path: Path) -> dict[str, Stored]:
    """The plain format: eight bytes with the length of a JSON header, it, and the numbers."""
    size, key, tensors = path.stat().st_size, "header", {}
    try:
        raw = torch.from_file(str(path), size=size, dtype=torch.uint8)
        length = int.from_bytes(raw[:8].numpy().tobytes(), "little")
        if not 2 <= length <= size - 8:
            raise ValueError(f"{length} bytes, in a file of {size}")
        header, numbers = json.loads(raw[8 : 8 + length].numpy().tobytes()), raw[8 + length :]
        for key, entry in header.items():
            if key != "__metadata__":
                tensors[key] = _of_bytes(numbers, entry["shape"], entry["dtype"], *entry["data_offsets"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, RuntimeError) as error:
        raise ValueError(f"{key}: {error}") from None
    return tensors


def _of_bytes(numbers: torch.Tensor, shape: list[int], kind: str, first: int, last: int) -> Stored:
    dtype = getattr(torch, _FORMATS.get(kind, ""), kind)
    if not isinstance(dtype, torch.dtype):
        return Stored(tuple(shape), kind)
    if not 0 <= first <= last <= len(numbers) or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"shape {shape} does not fit bytes {first} to {last} of {len(numbers)}")
    return Stored(tuple(shape), dtype, lambda: numbers[first:last].clone().view(dtype).reshape(shape))


def _read_numpy(path: Path) -> dict[str, Stored]:
    arrays = np.load(path, allow_pickle=False)
    if isinstance(arrays, np.ndarray):
        return {"matrix": stored_array(arrays)}
    tensors = {}
    for name in arrays.files:
        try:
            tensors[name] = stored_array(arrays[name])
        except ValueError:  # objects, which only a pickle holds
            tensors[name] = Stored((), "object")
    return tensors


def _read_message(path: Path):
    """MessagePack as flax writes it, where arrays are (shape, format, bytes) in extension 1."""
    try:
        msgpack = import_module("msgpack")
    except ImportError:
        raise ValueError("flax wrote it: pip install msgpack, or save .npz") from None

    def array(code: int, raw: bytes):
        if code not in (1, 3):
            return None
        shape, kind, numbers = msgpack.unpackb(raw)
        dtype = getattr(torch, kind, kind)
        if not isinstance(dtype, torch.dtype):
            return Stored(tuple(shape), kind)
        return stored_tensor(torch.from_numpy(np.frombuffer(numbers, np.uint8).copy()).view(dtype).reshape(shape))

    def whole(node: dict):
        if "__msgpack_chunked_array__" not in node:
            return node
        pieces = torch.cat([piece.read().flatten() for piece in node["chunks"].values()])
        return stored_tensor(pieces.reshape(tuple(node["shape"].values())))

    return msgpack.unpackb(path.read_bytes(), ext_hook=array, object_hook=whole, strict_map_key=False)
