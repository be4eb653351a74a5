"""Names of a package that are imported when they are first asked for, so that one of them loads no other's module.

A room of its own, for three packages; `fingerprint` reads the same tables.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attach(
    package: str, homes: Mapping[str, tuple[str, ...]], rooms: tuple[str, ...] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package.

    homes: a module of the package and the names that the package shows of it; no name may be that of a module, which
    Python would put in its place. rooms: modules that are shown themselves.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    shown = sorted([*home_of, *rooms])

    def get(name: str):
        if name in home_of:
            value = getattr(import_module(f"{package}.{home_of[name]}"), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in homes or name in rooms:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: shown, shown
