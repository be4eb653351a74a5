"""Pytest plugin (`-p forked_kernels`): a notebook's kernel is a fork of one process that has imported torch and pyplot.

Sixty kernels that start by themselves import the same modules sixty times, a third of what all their cells cost. It
replaces nbval's way to start a kernel, which is no interface of nbval's (0.11.0 is pinned); `notebooks.py run` keeps
ordinary kernels, so that an import that only a fresh process needs still shows there. Linux only: elsewhere it does
nothing. nbval also gives an output five seconds to arrive (nbval#231); a busy machine needs more. It compares no
pictures: they are rendered as drafts, and `notebooks.py run` makes the stored ones.
"""

import multiprocessing
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

TOOLS = Path(__file__).resolve().parent
PRELOAD = (
    "ipykernel.kernelapp ipykernel.ipkernel ipykernel.debugger matplotlib.pyplot matplotlib_inline.backend_inline "
    "torch scipy.stats scipy.optimize"
).split()
OUTPUT_SECONDS = 60


def pytest_configure(config):
    if config.getoption("nbval", False) and sys.platform == "linux":
        import nbval.kernel

        os.environ["AMEM_FIGURES"] = "draft"
        # read when matplotlib is imported: with another backend no figure would be shown
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        forks = multiprocessing.get_context("forkserver")
        forks.set_forkserver_preload(PRELOAD)
        nbval.kernel.start_new_kernel = lambda startup_timeout=60, cwd=".", **_: start(forks, startup_timeout, cwd)


def pytest_collection_modifyitems(items):
    for notebook in {item.parent for item in items if hasattr(item.parent, "output_timeout")}:
        notebook.output_timeout = OUTPUT_SECONDS


def start(forks, startup_timeout: float, cwd: str):
    """What nbval takes for a kernel's manager, and its client."""
    from jupyter_client import BlockingKernelClient, write_connection_file

    file, _ = write_connection_file()
    process = forks.Process(target=run_kernel, args=(file, cwd))
    process.start()
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(timeout=startup_timeout)

    def shutdown_kernel(now: bool = True) -> None:
        process.kill()
        process.join()
        Path(file).unlink()

    manager = SimpleNamespace(
        is_alive=process.is_alive,
        interrupt_kernel=lambda: os.kill(process.pid, signal.SIGINT),
        shutdown_kernel=shutdown_kernel,
        kernel_spec=SimpleNamespace(language="python"),
    )
    return manager, client


def run_kernel(connection: str, cwd: str) -> None:
    """A kernel in this fork, as `python -m ipykernel_launcher` would start it in `cwd`."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    os.chdir(cwd)
    os.environ["JPY_PARENT_PID"] = str(os.getppid())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    # a reader's kernel knows no tools
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != TOOLS]
    sys.argv = ["ipykernel_launcher.py", "-f", connection]
    IPKernelApp.launch_instance(sys.argv[1:])
