"""The package as people install it."""

import re
import subprocess
import sys

import pytest
from address import ROOT


@pytest.mark.full
def test_a_light_install_works_outside_of_the_checkout_within_150_megabytes(tmp_path):
    done = subprocess.run(
        [ROOT / ".ci" / "wheel", sys.executable, tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"installed in \d+ seconds, 1?\d\d MB", done.stdout)
    assert [one.suffix for one in tmp_path.iterdir()] == [".whl"]
