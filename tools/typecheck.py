"""The checker of annotations in the test run: beartype, with a whole number accepted where a real one is asked for."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
