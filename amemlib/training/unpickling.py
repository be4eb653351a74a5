"""Pickles and the archives of torch as data: tensors are places in the file, and nothing of a file is executed.

torch.load(weights_only=True) refuses a whole checkpoint for one class that it does not know, and reads all of it. Here
every class or function that is not on the list below becomes an `Inert` object, which only keeps what it was made of.
"""

import io
import math
import pickle
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

_STORAGES = {"untyped": "uint8", "byte": "uint8", "char": "int8", "complexfloat": "complex64"}
_STORAGES |= {"complexdouble": "complex128"}
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

    def __setstate__(self, state) -> None:
        # of a pickle: nothing of it changes where a tensor is read
        pass


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


def stored_array(array: np.ndarray) -> Stored:
    """An array that is in memory already."""
    kind = array.dtype.name if array.dtype.kind in "fiub" or array.dtype.name == "bfloat16" else str(array.dtype)
    kind = "bfloat16" if array.dtype.str.endswith("V2") else kind
    dtype = getattr(torch, kind, kind)

    def read() -> Tensor:
        raw = np.ascontiguousarray(array)
        raw = raw.astype(raw.dtype.newbyteorder("="), copy=True) if raw.dtype.kind != "V" else raw.copy()
        return torch.from_numpy(raw.reshape(-1).view(np.uint8)).view(dtype).reshape(array.shape)

    return Stored(array.shape, dtype, read)


def stored_bytes(source: str | bytes, first: int, shape, dtype: torch.dtype, stride=None, size: int = 0) -> Stored:
    """A tensor that begins at a byte of a file, or of bytes; size: of its storage from there on, in numbers."""
    shape, stride = tuple(shape), tuple(stride or _contiguous(shape))
    if min(shape, default=0) < 0 or len(shape) != len(stride) or min(stride, default=0) < 0:
        raise ValueError(f"a tensor of shape {shape} and strides {stride}")
    count = math.prod(shape)
    span = 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True)) if count else 0
    if span > size:
        raise ValueError(f"shape {shape} needs {span} numbers, and the file has {size}")
    if count > span:
        return Stored(shape, dtype, None, f"with {span} stored numbers expanded to {count}")
    place = (str(source) if isinstance(source, str) else id(source), first, shape, stride)

    def read() -> Tensor:
        raw = _take(source, first, span * dtype.itemsize)
        return raw.view(dtype).as_strided(shape, stride).contiguous()

    return Stored(shape, dtype, read, "", place)


def _take(source: str | bytes, first: int, size: int) -> Tensor:
    if isinstance(source, bytes):
        raw = np.frombuffer(bytearray(source[first : first + size]), np.uint8)
    else:
        raw = np.fromfile(source, np.uint8, size, offset=first)
    if len(raw) != size:
        raise ValueError(f"ends after {len(raw)} of {size} bytes of a tensor")
    return torch.from_numpy(raw)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


class _Call:
    """A function on the list, as a pickle gets it: BUILD cannot change it."""

    __slots__ = ("function",)

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self, *args):
        return self.function(*args)

    def __setstate__(self, state) -> None:
        pass


class _Dict(dict):
    """Every kind of dict."""

    def __setstate__(self, state) -> None:
        pass


class _Dtype:
    """A format of numpy."""

    def __init__(self, name, *_):
        self.name, self.order = name.origin.rpartition(".")[2] if isinstance(name, type) else str(name), "="

    def __setstate__(self, state) -> None:
        self.order = state[1] if state[1] in ("<", ">") else "="

    def array(self, raw: bytes, shape: tuple, order: str) -> Stored | str:
        if self.name == "bfloat16":
            return stored_bytes(bytes(raw), 0, shape, torch.bfloat16, None, len(raw) // 2)
        dtype = np.dtype(self.name).newbyteorder(self.order)
        if dtype.hasobject:
            return Stored(tuple(shape), "object")
        return stored_array(np.frombuffer(raw, dtype).reshape(shape, order=order))


class _Array:
    """An array of numpy, which gets its numbers by BUILD."""

    stored = None

    def __setstate__(self, state) -> None:
        _, shape, dtype, fortran, raw = state
        raw = raw if isinstance(raw, bytes) else b""
        self.stored = dtype.array(raw, shape, "F" if fortran else "C") if raw else Stored(tuple(shape), "object")

    def filled(self, state):
        self.__setstate__(state)
        return self


def _scalar(dtype: _Dtype, raw: bytes):
    return np.frombuffer(raw, np.dtype(dtype.name).newbyteorder(dtype.order))[0].item()


def _encoded(text: str, how: str) -> bytes:
    # bytes in old protocols
    if how not in ("latin1", "latin-1"):
        raise ValueError(f"bytes encoded as {how!r}")
    return text.encode("latin1")


@dataclass(frozen=True)
class _Storage:
    dtype: torch.dtype
    key: str
    size: int


class _Reader(pickle.Unpickler):
    """One pickle; source and offsets: where the bytes of a storage begin, by its key."""

    def __init__(self, file, source: str | bytes = b"", offsets: dict | None = None):
        super().__init__(file, encoding="latin1")
        self.source, self.offsets = source, offsets or {}
        self.inert = {}
        plain = lambda data, *_: data
        tensor = lambda storage, first, shape, stride, *_: self._tensor(storage, storage.dtype, first, shape, stride)
        typed = lambda storage, *of: self._tensor(storage, of[5], *of[:3])
        quantized = lambda storage, first, shape, *_: Stored(tuple(shape), str(storage.dtype)[6:])
        empty = lambda dtype, shape, *_: Stored(tuple(shape), dtype, None, "no numbers of its own")
        known = {
            "torch._utils": {
                "_rebuild_tensor": tensor,
                "_rebuild_tensor_v2": tensor,
                "_rebuild_tensor_v3": typed,
                "_rebuild_parameter": plain,
                "_rebuild_parameter_with_state": plain,
                "_rebuild_qtensor": quantized,
                "_rebuild_meta_tensor_no_storage": empty,
                "_rebuild_wrapper_subclass": lambda _, *rest: empty(*rest),
            },
            "torch._tensor": {"_rebuild_from_type_v2": _of_class},
            "torch": {"Size": lambda shape=(): tuple(shape)},
            "torch.serialization": {"_get_layout": lambda name: name},
            "collections": {"OrderedDict": lambda pairs=(): _Dict(pairs), "defaultdict": lambda *_: _Dict()},
            "_codecs": {"encode": _encoded},
            "numpy": {"dtype": _Dtype},
            "jax._src.array": {"_reconstruct_array": lambda function, args, state, *_: function(*args).filled(state)},
        }
        arrays = {"_reconstruct": lambda *_: _Array(), "scalar": _scalar}
        for module in ("numpy.core", "numpy._core"):
            known[module + ".multiarray"] = arrays
            known[module + ".numeric"] = {"_frombuffer": lambda raw, dtype, *how: dtype.array(raw, *how)}
        self.known = {(module, name): _Call(f) for module, names in known.items() for name, f in names.items()}

    def find_class(self, module: str, name: str):
        if (module, name) in self.known:
            return self.known[module, name]
        if module in ("torch", "torch.storage", "torch.cuda"):
            if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
                return getattr(torch, name)
            if name.endswith("Storage"):
                kind = name.removesuffix("Storage").lower()
                kind = _STORAGES.get(kind, kind)
                if isinstance(getattr(torch, kind, None), torch.dtype):
                    return getattr(torch, kind)
        # one class a name, for an object may be made of a class that it names
        if (module, name) not in self.inert:
            self.inert[module, name] = type("Inert", (Inert,), {"origin": f"{module}.{name}"})
        return self.inert[module, name]

    def persistent_load(self, entry):
        kind, dtype, key, _, size = entry[:5]
        if kind != "storage" or not isinstance(dtype, torch.dtype):
            raise ValueError("a reference that is no storage")
        return _Storage(dtype, str(key), int(size))

    def _tensor(self, storage, dtype, first, shape, stride) -> Stored:
        if first < 0:
            raise ValueError(f"a tensor that begins {-first} numbers before its storage")
        if storage.key not in self.offsets:
            raise ValueError(f"a storage {storage.key} that is not in the file")
        at = self.offsets[storage.key] + first * dtype.itemsize
        size = storage.size * storage.dtype.itemsize // dtype.itemsize - first
        return stored_bytes(self.source, at, shape, dtype, stride, size)


def _of_class(function, kind, args, state):
    """A tensor of a class of its own: of a DTensor this rank's part, if that is the whole."""
    made = function(*args)
    if str(getattr(kind, "origin", "")).endswith("DTensor"):
        pairs = {k: v for part in (state if isinstance(state, tuple) else (state,)) for k, v in (part or {}).items()}
        local = pairs.get("_local_tensor")
        if isinstance(local, Stored) and local.shape == made.shape:
            return local
        if isinstance(local, Stored):
            return Stored(made.shape, made.dtype, None, f"a shard {local.shape} of {made.shape}")
    return made


def read_archive(source: str | bytes):
    """What torch.save wrote, or a pickle of somebody else."""
    with open(source, "rb") if isinstance(source, str) else io.BytesIO(source) as file:
        if zipfile.is_zipfile(file):
            return _read_zip(file, source)
        file.seek(0)
        if file.read(2) == b"PK":
            raise ValueError("it is cut off, a zip file without its end")
        file.seek(0)
        first = _Reader(file, source).load()
        if first == _MAGIC:
            raise ValueError("a torch before 1.6 wrote it: load it and save it again")
        return first


def children(node) -> dict:
    """What a container holds."""
    if isinstance(node, Inert):
        return node.parts
    return node if isinstance(node, dict) else dict(enumerate(node))


def _read_zip(file, source: str | bytes):
    archive = zipfile.ZipFile(file)
    entries = {entry.filename: entry for entry in archive.infolist()}
    start = next((name for name in entries if name == "data.pkl" or name.endswith("/data.pkl")), None)
    if start is None:
        raise ValueError("an archive without data.pkl")
    folder, offsets = start.removesuffix("data.pkl"), {}
    for name, entry in entries.items():
        if name.startswith(folder) and entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError("its archive is compressed, as torch writes none")
        if name.startswith(folder + "data/"):
            file.seek(entry.header_offset + 26)
            lengths = struct.unpack("<HH", file.read(4))
            offsets[name.removeprefix(folder + "data/")] = entry.header_offset + 30 + sum(lengths)
    order = entries.get(folder + "byteorder")
    if order is not None and archive.read(order) != b"little":
        raise ValueError("its numbers are big-endian")
    return _Reader(io.BytesIO(archive.read(start)), source, offsets).load()


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
            piece = read_archive(_slice(path, info)).read()
            whole[tuple(slice(a, a + n) for a, n in zip(offset, piece.shape, strict=True))] = piece
            filled += piece.numel()
        if filled != whole.numel():
            raise ValueError(f"shards hold {filled} of {whole.numel()} numbers")
        return whole

    return Stored(shape, dtype, read)


def _flat(node):
    for value in node.values() if isinstance(node, dict) else node:
        yield from _flat(value) if isinstance(value, dict | tuple) else (value,)
