"""Tiers of tests keep to their minutes."""

import re
import subprocess
import sys

import pytest
from address import ROOT


def within(minutes, *command):
    asked = [ROOT / ".ci" / "within", str(minutes), *command]
    return subprocess.run(asked, capture_output=True, text=True)


@pytest.mark.parametrize("status", [0, 3])
def test_a_tier_within_its_minutes_ends_as_its_tests_do(status):
    done = within(5, "sh", "-c", f"echo ran; exit {status}")
    assert done.returncode == status
    assert done.stdout == f"ran\nsh -c echo ran; exit {status}: 0.0 of 5 minutes\n"


def test_a_tier_over_its_budget_fails_though_its_tests_pass():
    done = within(0, "sleep", "1.1")
    assert done.returncode == 1
    assert "sleep 1.1: 0.0 of 0 minutes" in done.stdout
    assert "over its budget" in done.stderr


@pytest.mark.full
def test_a_light_install_works_outside_of_the_checkout_within_150_megabytes(tmp_path):
    done = subprocess.run(
        [ROOT / ".ci" / "wheel", sys.executable, tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"installed in \d+ seconds, 1?\d\d MB", done.stdout)
    assert [one.suffix for one in tmp_path.iterdir()] == [".whl"]
