"""A device that is none: CPU arithmetic behind tensors that say they lie elsewhere and refuse to meet CPU tensors.

torch's label is `meta`, the only device besides the CPU that a build without a GPU knows. Where code forgets to move a
tensor, makes one in the wrong place, or gives one to numpy, it fails here as it would on a GPU. What only a GPU has is
not covered: its own kernels, their order of summation and their memory.
"""

from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

LABEL = torch.device("meta")
aten = torch.ops.aten
# a GPU takes these from the host: an index, or what is copied
_FROM_HOST = {aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_, aten.copy_, aten._to_copy}
_PRODUCTS = (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)
_FROM_DATA = (torch.tensor, torch.as_tensor, torch.Tensor.new_tensor)


class Elsewhere(torch.Tensor):
    """A tensor of the pretend device; `host` holds its numbers."""

    @staticmethod
    def __new__(cls, host):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=LABEL,
        )

    def __init__(self, host):
        self.host = host

    @property
    def is_meta(self):
        # the label is all that this device shares with meta: there are numbers
        return False

    def __repr__(self):
        return f"Elsewhere({self.host!r})"

    def __format__(self, form):
        return format(self.host, form)

    def __reduce_ex__(self, protocol):
        return self.host.detach().__reduce_ex__(protocol)

    def tolist(self):
        return self.host.tolist()

    def numpy(self, *, force=False):
        if not force:
            raise TypeError("can't convert a tensor of another device to numpy; use Tensor.cpu() first")
        return self.host.detach().numpy()

    def __array__(self, dtype=None):
        return self.numpy()

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _dispatch(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """What torch does before it dispatches: tensors made of plain numbers."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _FROM_DATA:
            away = func is torch.Tensor.new_tensor and isinstance(args[0], Elsewhere)
            device = kwargs.pop("device", LABEL if away else None)
            if away:
                kwargs.setdefault("dtype", args[0].dtype)
                func, args = torch.tensor, (args[1],)
            made = func(*args, **kwargs)
            return made if device is None else made.to(device)
        if (
            func is torch.Tensor.__setitem__
            and isinstance(args[0], Elsewhere)
            and not isinstance(args[2], torch.Tensor)
        ):
            target, index, value = args
            target.host[tree_map_only(Elsewhere, lambda x: x.host, index)] = value
            return None
        if func in _PRODUCTS and isinstance(args[0], Elsewhere) and args[0].ndim == 1 and args[1].ndim == 2:
            # torch's own way drops a dimension in place, and the wrapper would keep it
            return torch.mv(args[1].T, args[0])
        return func(*args, **kwargs)


class _Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _dispatch(func, args, kwargs or {})


def _dispatch(func, args, kwargs):
    given = tree_leaves((args, kwargs))
    away = [x for x in given if isinstance(x, Elsewhere)]
    asked = kwargs.get("device")
    if asked is not None and torch.device(asked).type == LABEL.type:
        kwargs = kwargs | {"device": torch.device("cpu")}
        target = True
    else:
        target = bool(away) and asked is None
    if func.overloadpacket not in _FROM_HOST and away:
        home = [x for x in given if isinstance(x, torch.Tensor) and not isinstance(x, Elsewhere) and x.ndim]
        if home:
            raise RuntimeError(f"expected all tensors on one device, {func} met {LABEL} and {home[0].device}")
    if func is aten.copy_.default and not isinstance(args[0], Elsewhere):
        target = False
    unwrapped = tree_map_only(Elsewhere, lambda x: x.host, (args, kwargs))
    out = func(*unwrapped[0], **unwrapped[1])
    written = {id(x.host): x for x in away}
    changed = func._schema.is_mutable

    def wrap(x):
        if changed and id(x) in written and written[id(x)].shape == x.shape:
            return written[id(x)]
        return Elsewhere(x) if target else x

    return tree_map_only(torch.Tensor, wrap, out)


@contextmanager
def elsewhere():
    """In this block tensors of the device `meta` are computed on."""
    with _Dispatch(), _Functions():
        yield LABEL
