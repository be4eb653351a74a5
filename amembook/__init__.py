"""amembook: what the book measured with amemlib, a study a folder, its records, and the pictures of both."""

from importlib import import_module

_HOMES = {"read_records": "run.records", "start_chapter": "run.runtime", "Table": "figures.tables"}


def __getattr__(name: str):
    # on demand: the command line says what it can say without torch
    if name in _HOMES:
        return getattr(import_module(f"amembook.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'amembook' has no attribute {name!r}")
