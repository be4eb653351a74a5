"""A sweep gives the same record wherever its cells run: here, in processes, on a Dask cluster, through submitit."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from squares import Config, squares

from amemlib import sweep


@contextmanager
def dask(folder):
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        sweep.dask_executor(cluster.scheduler_address) as executor,
    ):
        yield executor


@contextmanager
def slurm(folder):
    """What a SLURM cluster is to submitit, `cluster="local"` is on one machine: a process for each job."""
    import submitit

    executor = submitit.AutoExecutor(folder=folder / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    yield executor


def processes(folder):
    return sweep.process_executor(2)


@pytest.mark.process
@pytest.mark.parametrize(
    "place",
    [processes, pytest.param(dask, marks=pytest.mark.weekly), pytest.param(slurm, marks=pytest.mark.weekly)],
    ids=lambda place: place.__name__,
)
def test_the_record_does_not_depend_on_where_its_cells_ran(place, tmp_path, monkeypatch):
    # a job of submitit's imports this module by its name
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    with place(tmp_path) as executor:
        record = sweep.run(squares(), Config(), tmp_path, "cpu", executor)
    assert record["measured"]["squares"] == [0, 1, 4, 9, 16, 25]
    assert len(list((tmp_path / "toy").glob("*.json"))) == 6


def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(ValueError, match=r"dask must be the address of a running scheduler, got 'tcp://127.0.0.1:9'"):
        with sweep.dask_executor("tcp://127.0.0.1:9", timeout=0.5):
            pass


def test_a_missing_dask_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"amemlib\[dask\]"):
        with sweep.dask_executor("tcp://127.0.0.1:9"):
            pass
