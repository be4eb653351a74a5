"""Pickles and the archives of torch as data: nothing of a file is executed.

torch.load(weights_only=True) refuses a whole checkpoint for one class that it does not know. Here every class or
function that is not on the list below becomes an `Inert` object, which only keeps what it was made of; torch.load reads
the archive and maps its tensors into memory, so that each is fetched when it is looked at.
"""

import io
import math
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor

_MAGIC = 0x1950A86A20F9469CFC6C
"""The first number of what torch.save wrote before it wrote archives."""


@dataclass(frozen=True, eq=False)
class Stored:
    """A tensor in a file: `read()` fetches it alone. place: what tied tensors share; reason: why it cannot be read."""

    shape: tuple[int, ...]
    dtype: torch.dtype | str
    read: Callable[[], Tensor] | None = None
    reason: str = ""
    place: tuple = ()


class Inert:
    """An object of a class that is not on the list: what it was made of, under numbers and names."""

    origin = ""

    def __new__(cls, *args, **kwargs):
        self = object.__new__(cls)
        self.__dict__["parts"] = {**dict(enumerate(args)), **kwargs}
        return self

    def __init__(self, *args, **kwargs) -> None:
        pass

    def __setstate__(self, state) -> None:
        for part in state if isinstance(state, tuple) and all(isinstance(x, dict | None) for x in state) else (state,):
            self.parts.update(part if isinstance(part, dict) else {"state": part} if part is not None else {})

    def __setitem__(self, key, value) -> None:
        self.parts[key] = value

    def __call__(self, *args):
        return Inert(*args)

    def append(self, value) -> None:
        self.parts[len(self.parts)] = value

    def extend(self, values) -> None:
        for value in values:
            self.append(value)

    add = append


class _Fixed:
    """What BUILD, the opcode of a pickle that fills an object, cannot change."""

    __slots__ = ()

    def __setstate__(self, state) -> None:
        pass


class _Call(_Fixed):
    """A function on the list, or for torch.load a class of storages, of which it asks the dtype."""

    __slots__ = ("function", "dtype")

    def __init__(self, function: Callable | None, dtype: torch.dtype | None = None):
        self.function, self.dtype = function, dtype

    def __call__(self, *args):
        return self.function(*args)


class _Dict(_Fixed, dict):
    """Every kind of dict."""


class _Dtype:
    """A format of numpy; numpy's own, of which bytes may be made pointers, are not on the list."""

    def __init__(self, name, *_):
        self.name, self.order = name.origin.rpartition(".")[2] if isinstance(name, type) else str(name), "="

    def __setstate__(self, state) -> None:
        self.order = state[1] if state[1] in ("<", ">") else "="

    def array(self, raw: bytes, shape: tuple, order: str = "C") -> Stored:
        dtype = np.dtype("V2" if self.name == "bfloat16" else self.name).newbyteorder(self.order)
        if dtype.hasobject or not isinstance(raw, bytes):
            return Stored(tuple(shape), "object")
        return stored_array(np.frombuffer(raw, dtype).reshape(shape, order=order))


class _Array:
    """An array of numpy, which gets its numbers by BUILD."""

    stored = None

    def __setstate__(self, state) -> None:
        _, shape, dtype, fortran, raw = state
        self.stored = dtype.array(raw, shape, "F" if fortran else "C")

    def filled(self, state):
        self.__setstate__(state)
        return self


def stored_tensor(X: Tensor) -> Stored:
    """A tensor that is in memory, or mapped into it."""
    count, held = X.numel(), 0 if X.is_meta else X.untyped_storage().nbytes() // X.itemsize
    if count > held:
        reason = f"with {held} stored numbers expanded to {count}" if held else "no numbers of its own"
        return Stored(tuple(X.shape), X.dtype, None, reason)
    return Stored(tuple(X.shape), X.dtype, lambda: X.detach(), "", (X.data_ptr(), X.shape, X.stride()))


def stored_array(array: np.ndarray) -> Stored:
    """An array of numpy's or JAX's; what has two bytes and no other name is bfloat16."""
    kind = "bfloat16" if array.dtype.str.endswith("V2") else array.dtype.name
    dtype = getattr(torch, kind, None)
    if not isinstance(dtype, torch.dtype):
        return Stored(array.shape, str(array.dtype))
    little = array.astype(array.dtype.newbyteorder("="), order="C") if array.dtype.kind != "V" else array.copy("C")
    return stored_tensor(torch.from_numpy(little.reshape(-1).view(np.uint8)).view(dtype).reshape(array.shape))


def children(node) -> dict:
    """What a container holds."""
    if isinstance(node, Inert):
        return node.parts
    return node if isinstance(node, dict) else dict(enumerate(node))


def _encoded(text: str, how: str) -> bytes:
    # bytes in old protocols
    if how not in ("latin1", "latin-1"):
        raise ValueError(f"bytes encoded as {how!r}")
    return text.encode("latin1")


def _of_class(function, kind, args, state):
    """A tensor of a class of its own: of a DTensor this rank's part, if that is the whole."""
    made = function(*args)
    if str(getattr(kind, "origin", "")).endswith("DTensor"):
        pairs = {k: v for part in (state if isinstance(state, tuple) else (state,)) for k, v in (part or {}).items()}
        local = pairs.get("_local_tensor")
        if isinstance(local, Tensor) and local.shape == made.shape:
            return local
        if isinstance(local, Tensor):
            reason = f"a shard {tuple(local.shape)} of {tuple(made.shape)}"
            return Stored(tuple(made.shape), made.dtype, None, reason)
    return made


def _empty(dtype, shape, *_) -> Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def _known() -> dict[tuple[str, str], Callable]:
    """The functions and classes that a pickle may call, by module and name."""
    known = {("torch._utils", name): getattr(torch._utils, name) for name in _REBUILDS}
    known |= {("torch._utils", name): lambda data, *_: data for name in _PARAMETERS}
    known["torch._utils", "_rebuild_qtensor"] = lambda storage, first, shape, *_: Stored(tuple(shape), storage.dtype)
    known["torch._utils", "_rebuild_meta_tensor_no_storage"] = _empty
    known["torch._utils", "_rebuild_wrapper_subclass"] = lambda _, *rest: _empty(*rest)
    known["torch._tensor", "_rebuild_from_type_v2"] = _of_class
    known["torch", "Size"] = lambda shape=(): tuple(shape)
    known["torch.serialization", "_get_layout"] = lambda name: name
    known["collections", "OrderedDict"] = lambda pairs=(): _Dict(pairs)
    known["collections", "defaultdict"] = lambda *_: _Dict()
    known["_codecs", "encode"] = _encoded
    known["numpy", "dtype"] = _Dtype
    known["jax._src.array", "_reconstruct_array"] = lambda made, args, state, *_: made(*args).filled(state)
    for module in ("numpy.core", "numpy._core"):
        known[module + ".multiarray", "_reconstruct"] = lambda *_: _Array()
        known[module + ".numeric", "_frombuffer"] = lambda raw, dtype, *how: dtype.array(raw, *how)
    return {key: _Call(function) for key, function in known.items()}


_REBUILDS = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3")
_PARAMETERS = ("_rebuild_parameter", "_rebuild_parameter_with_state")


class _Reader(pickle.Unpickler):
    """A pickle of which nothing is run."""

    def __init__(self, file, **_):
        super().__init__(file, encoding="latin1")
        self.classes = _known()
        self.classes["torch.storage", "UntypedStorage"] = _Call(None, torch.uint8)

    def find_class(self, module: str, name: str):
        dtype = getattr(torch, name, None) if module == "torch" else None
        if isinstance(dtype, torch.dtype):
            return dtype
        # one class a name, for an object may be made of a class that it names
        return self.classes.setdefault((module, name), type("Inert", (Inert,), {"origin": f"{module}.{name}"}))


def read_archive(source: str | bytes):
    """What torch.save wrote, or a pickle of somebody else."""
    with open(source, "rb") if isinstance(source, str) else io.BytesIO(source) as file:
        if file.read(2) != b"PK":
            file.seek(0)
            first = _Reader(file).load()
            if first == _MAGIC:
                raise ValueError("a torch before 1.6 wrote it: load it and save it again")
            return first
        if not zipfile.is_zipfile(file):
            raise ValueError("it is cut off, a zip file without its end")
        names = zipfile.ZipFile(file).namelist()
        if any(name.endswith("constants.pkl") for name in names) or not any(n.endswith("data.pkl") for n in names):
            raise ValueError("an archive of TorchScript, or of something else")
        file.seek(0)
        mapped = isinstance(source, str)
        reader = SimpleNamespace(__name__="data", Unpickler=_Reader)
        return torch.load(source if mapped else file, "cpu", reader, weights_only=False, mmap=mapped)


def is_folder_of_torch(path: Path) -> bool:
    """Whether torch.distributed.checkpoint wrote a folder."""
    return (path / ".metadata").is_file()


def read_distributed(path: Path) -> dict:
    """A folder of torch.distributed.checkpoint as a tree; torch's own reader would unpickle its .metadata."""
    metadata = read_archive(str(path / ".metadata"))
    parts: dict[str, list] = {}
    for index, info in metadata.parts["storage_data"].items():
        parts.setdefault(index.parts["fqn"], []).append((index.parts.get("offset"), info.parts))
    tree: dict = {}
    places = metadata.parts.get("planner_data") or {}
    for name, entry in metadata.parts["state_dict_metadata"].items():
        if "size" in entry.parts:
            value = _joined(path, tuple(entry.parts["size"]), entry.parts["properties"], parts.get(name, []))
        else:
            value = read_archive(_slice(path, parts[name][0][1])) if name in parts else None
        *above, last = places.get(name, (name,))
        node = tree
        for key in above:
            node = node.setdefault(key, {})
        node[last] = value
    return tree


def _slice(path: Path, info: dict) -> bytes:
    if info.get("transform_descriptors"):
        raise ValueError(f"{info['relative_path']} is compressed")
    name = str(info["relative_path"])
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"{name!r} lies outside of the folder")
    with open(path / name, "rb") as file:
        file.seek(info["offset"])
        return file.read(info["length"])


def _joined(path: Path, shape: tuple[int, ...], properties: Inert, parts: list) -> Stored:
    dtype = next((x for x in _flat(properties.parts) if isinstance(x, torch.dtype)), torch.float32)
    if dtype.itemsize * math.prod(shape) > 2 * sum(info["length"] for _, info in parts) + 4096:
        return Stored(shape, dtype, None, "not all of its shards are in the folder")

    def read() -> Tensor:
        whole, filled = torch.empty(shape, dtype=dtype), 0
        for offset, info in parts:
            piece = read_archive(_slice(path, info))
            whole[tuple(slice(a, a + n) for a, n in zip(offset, piece.shape, strict=True))] = piece
            filled += piece.numel()
        if filled != whole.numel():
            raise ValueError(f"shards hold {filled} of {whole.numel()} numbers")
        return whole

    return Stored(shape, dtype, read)


def _flat(node):
    for value in node.values() if isinstance(node, dict) else node:
        yield from _flat(value) if isinstance(value, dict | tuple) else (value,)
