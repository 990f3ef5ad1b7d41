"""The page of sharded vocabularies: its programs, each started by torchrun with two processes, do what it says."""

import re
import subprocess
import sys

import nbformat
import pytest
from notebooks import BOOK

pytest.importorskip("torch")
TEXT = "\n".join(cell.source for cell in nbformat.read(BOOK / "sharded.ipynb", 4).cells)
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PROGRAMS = {"sample": "\n".join(BLOCKS[:-1]), "train": BLOCKS[-1]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_page_runs_on_two_ranks(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    path = tmp_path / f"{name}.py"
    path.write_text(PROGRAMS[name], "utf-8")
    words = ["torch.distributed.run", "--standalone", "--nproc_per_node=2", str(path)]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("gradients equal") == 3 * (name == "train")
