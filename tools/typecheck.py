"""The checker of annotations in the test run: beartype, with a whole number accepted where a real one is asked for, and
a NumPy scalar where a number or an array without axes is."""

import numpy as np
from beartype import BeartypeConf, BeartypeHintOverrides, beartype

SCALARS = BeartypeHintOverrides({int: int | np.integer, np.ndarray: np.ndarray | np.generic})
check = beartype(conf=BeartypeConf(is_pep484_tower=True, hint_overrides=SCALARS))
