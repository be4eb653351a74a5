"""A sweep gives the same record wherever its cells run: here, in processes, on a Dask cluster, through submitit."""

import sys
from contextlib import contextmanager

import pytest

from amemlib import experiments, sweep

ONE_STEP = experiments.find_experiment("one-step")
TINY = {"dims": "16,32", "n_items": "256", "seeds": "1", "sgd_dims": "64,128", "sgd_items": "64", "sgd_seeds": "2"}


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


@pytest.fixture(scope="module")
def config():
    return experiments.configure(ONE_STEP, "smoke", TINY)


@pytest.fixture(scope="module")
def here(config, tmp_path_factory):
    return sweep.run(ONE_STEP, config, tmp_path_factory.mktemp("here"), "cpu")


@pytest.mark.parametrize("place", [processes, dask, slurm], ids=lambda place: place.__name__)
def test_the_record_does_not_depend_on_where_its_cells_ran(place, config, here, tmp_path):
    with place(tmp_path) as executor:
        record = sweep.run(ONE_STEP, config, tmp_path, "cpu", executor)
    assert record["measured"] == here["measured"]
    assert len(list((tmp_path / "one-step").glob("*.json"))) == 6


def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(ValueError, match=r"dask must be the address of a running scheduler, got 'tcp://127.0.0.1:9'"):
        with sweep.dask_executor("tcp://127.0.0.1:9", timeout=0.5):
            pass


def test_a_missing_dask_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"amemlib\[dask\]"):
        with sweep.dask_executor("tcp://127.0.0.1:9"):
            pass
