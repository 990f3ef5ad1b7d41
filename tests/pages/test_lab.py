"""JupyterLab: sliders have names by keyboard and tell what a move came to; `make lab` lists the pages and nothing else."""

import json
import urllib.request

import nbformat
import pytest
from jupyter_lab import TOKEN, command, started
from nbformat.v4 import new_code_cell, new_notebook
from notebooks import BOOK, KERNEL, pages
from playwright.sync_api import expect

pytestmark = pytest.mark.site

SHOWN = """\
import ipywidgets
from softmax_lib.widgets import explorer, stepper
explored = explorer({"size": [32, 64], "gpu": ["T4", "H200"]}, lambda size, gpu: f"{size} on {gpu}")
ipywidgets.VBox([explored, stepper(["**one**", "*two*"])])"""
SECONDS = 60


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """A notebook with two widgets."""
    path = tmp_path_factory.mktemp("book") / "widgets.ipynb"
    cell = new_code_cell(SHOWN, id="shown")
    nbformat.write(new_notebook(cells=[cell], metadata={"kernelspec": KERNEL}), path)
    return path


@pytest.fixture(scope="module")
def page(chromium, notebook):
    root = [one for one in command() if not one.startswith("--ServerApp.root_dir")][:-1]
    with started([*root, f"--ServerApp.root_dir={notebook.parent}", str(notebook)]) as address:
        page = chromium.new_page()
        page.set_default_timeout(1000 * SECONDS)
        page.goto(address)
        page.get_by_role("button", name="| Idle").wait_for()  # a cell run before is not run at all
        page.get_by_label("Cells").get_by_role("textbox").first.click()
        page.keyboard.press("Shift+Enter")
        page.get_by_role("slider").first.wait_for()
        yield page
        page.close()


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [("size", "64", "64 on T4"), ("gpu", "H200", "64 on H200"), ("step", "2 of 2", "two")],
)
def test_a_handle_has_its_name_and_a_move_is_told(page, name, value, outcome):
    handle = page.get_by_role("slider", name=name, exact=True)
    widget = page.locator(".worklog-widget", has=handle)
    expect(widget.get_by_role("status")).not_to_have_text(outcome)
    handle.focus()
    page.keyboard.press("ArrowRight")
    expect(handle).to_have_attribute("aria-valuetext", value)
    expect(widget.get_by_role("status")).to_have_text(outcome)
    expect(handle).to_be_focused()


# ---- `make lab`


@pytest.fixture(scope="module")
def opened():
    with started(command()) as address:
        yield address


def test_the_introduction_is_opened(opened):
    assert opened.endswith(f"/lab/tree/intro.ipynb?token={TOKEN}")


def test_pages_are_listed_and_nothing_else(opened):
    address = opened.partition("/lab/")[0]
    with urllib.request.urlopen(f"{address}/api/contents?token={TOKEN}") as answer:
        listed = {entry["name"] for entry in json.load(answer)["content"]}
    assert listed == {*(path.name for path in pages() if path.parent == BOOK), "evidence"}
