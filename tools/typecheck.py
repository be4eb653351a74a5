"""The checker of annotations in the test run: beartype, with a whole number accepted where a real one is asked for."""

import functools

from beartype import BeartypeConf, beartype

CHECKED = beartype(conf=BeartypeConf(is_pep484_tower=True))


def check(function):
    """Checks `function` from its first call on: most of the house's functions are called in no worker."""
    if isinstance(function, type):
        return CHECKED(function)
    made = functools.cache(lambda: CHECKED(function))
    return functools.wraps(function)(lambda *args, **kwargs: made()(*args, **kwargs))
