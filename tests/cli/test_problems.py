"""`softmax-lib info` names what is wrong with an installation, and what mends it."""

import json
from importlib import metadata
from unittest.mock import Mock

import pytest

from softmax_lib.cli import information, main
from softmax_lib.cli.information import Driver, find_problems
from softmax_lib.engine.errors import NotAvailable

OLD, NEW = Driver((12, 2), 1), Driver((13, 0), 1)


@pytest.fixture
def sound(monkeypatch):
    """A machine with a GPU and nothing wrong; gives what changes an answer."""

    def answer(**answers):
        for name, given in answers.items():
            monkeypatch.setattr(information, name, lambda given=given: given)

    answer(
        ask_driver=NEW,
        torch_versions=("2.13.0+cu130", "13.0"),
        cupys=["cupy-cuda13x 14.2.0"],
        nvrtc_version=(13, 0),
    )
    return answer


def found():
    return [(problem.what, problem.mend) for problem in find_problems()]


def test_a_sound_machine_has_none(sound):
    assert found() == []
    sound(ask_driver=None, torch_versions=("2.13.0+cpu", None))
    assert found() == []


@pytest.mark.parametrize(
    ("answers", "what", "mend"),
    [
        ({"ask_driver": OLD, "nvrtc_version": (12, 9)},
         "The driver runs CUDA up to 12.2, and torch 2.13.0+cu130 is built for CUDA 13.0.",
         "Bring the driver up to date, or install a torch for CUDA 12."),
        ({"ask_driver": OLD, "torch_versions": ("2.13.0+cu128", "12.8")},
         "The driver runs CUDA up to 12.2, and CuPy's NVRTC is built for CUDA 13.0.",
         "Bring the driver up to date, or install a CuPy for CUDA 12."),
        ({"torch_versions": ("2.13.0+cpu", None)},
         "There is a GPU, and torch 2.13.0+cpu is built for the CPU alone.",
         "Install torch as pytorch.org/get-started says for CUDA."),
        ({"torch_versions": None}, "There is a GPU, and torch is not installed.", "`pip install torch`."),
    ],
)  # fmt: skip
def test_a_driver_and_what_is_installed_for_another(sound, answers, what, mend):
    sound(**answers)
    assert found() == [(what, mend)]


def test_two_cupys_are_one_too_many(sound, monkeypatch):
    monkeypatch.undo()
    both = {"cupy": ["cupy-cuda12x", "cupy"]}
    monkeypatch.setattr(metadata, "packages_distributions", lambda: both)
    monkeypatch.setattr(metadata, "version", lambda name: "14")
    ((what, mend),) = [(w, m) for w, m in found() if "CuPys" in w]
    assert "cupy-cuda12x 14, cupy 14" in what
    assert mend.startswith("Uninstall all of them, and install one: `pip install cupy-cuda12x`")


@pytest.mark.parametrize(
    ("change", "what", "mend"),
    [
        (lambda m: m.setenv("CXX", "no-such-compiler"),
         "No kernel can run on the CPU: no C++ compiler answers.", "set it to a C++ compiler or unset it."),
        (lambda m: m.setattr(information, "find_spec", lambda name: None),
         "pyelftools is missing", "`pip install pyelftools`."),
        (lambda m: m.setattr(information, "nvrtc_version", Mock(side_effect=NotAvailable("CuPy finds no NVRTC."))),
         "Nothing can be compiled for a GPU. CuPy finds no NVRTC.", "cupy-cuda12x[ctk]"),
        (lambda m: m.setenv("XDG_CACHE_HOME", "/dev/null"),
         "Nothing can be written to /dev/null/softmax_lib:", "Set XDG_CACHE_HOME to a folder that can be written."),
    ],
)  # fmt: skip
def test_what_is_missing_or_cannot_be_written(sound, monkeypatch, change, what, mend):
    change(monkeypatch)
    ((found_what, found_mend),) = found()
    assert what in found_what
    assert mend in found_mend


def test_nothing_to_compile_for_a_gpu_is_no_problem_without_one(sound, monkeypatch):
    sound(ask_driver=None, cupys=[])
    missing = Mock(side_effect=NotAvailable("CuPy cannot be imported."))
    monkeypatch.setattr(information, "nvrtc_version", missing)
    assert found() == []


def test_info_lists_them_and_ends_with_status_0(sound, monkeypatch, capsys):
    sound(torch_versions=None)
    assert main(["info", "--json"]) == 0
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    what = "There is a GPU, and torch is not installed."
    assert problem == {"what": what, "mend": "`pip install torch`."}
    assert main(["info"]) == 0
    assert what in capsys.readouterr().out
