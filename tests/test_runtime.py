"""The profile, the device, and a fingerprint that follows the code and not its prose."""

import sys

import numpy as np
import pytest
import scipy
import torch

from amemlib import fingerprint, runtime


@pytest.mark.parametrize("name", runtime.PROFILES)
def test_the_profile_comes_from_the_environment(monkeypatch, name):
    monkeypatch.setenv("AMEM_PROFILE", name)
    assert runtime.profile() == name


def test_the_profile_is_cpu_where_nothing_is_said(monkeypatch):
    monkeypatch.delenv("AMEM_PROFILE", raising=False)
    assert runtime.profile() == "cpu"


@pytest.mark.parametrize("has_gpu", [False, True])
def test_auto_takes_a_gpu_where_there_is_one(monkeypatch, has_gpu):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    assert runtime.device("auto").type == ("cuda" if has_gpu else "cpu")
    assert runtime.device("cpu").type == "cpu"


def test_a_chapter_runs_on_one_thread_outside_colab(monkeypatch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        monkeypatch.setitem(sys.modules, "google.colab", runtime)
        runtime.start_chapter()
        assert runtime.in_colab() and torch.get_num_threads() == 2
        monkeypatch.delitem(sys.modules, "google.colab")
        runtime.start_chapter()
        assert not runtime.in_colab() and torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_provenance_names_versions_and_code():
    provenance = runtime.provenance(torch.device("cpu"))
    versions = provenance["versions"]
    assert versions["numpy"] == np.__version__ and versions["scipy"] == scipy.__version__
    assert torch.__version__.startswith(versions["torch"].partition("+")[0])
    assert provenance["device"].startswith("cpu")
    assert provenance["code"] == fingerprint.code_hash()
