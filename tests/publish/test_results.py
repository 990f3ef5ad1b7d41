"""The results page tells any record: that of a GPU with fewer peers and tools than the book's, too."""

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from notebooks import BOOK
from sample_records import content, write
from traitlets.config import Config

from softmax_lib.records import shelf


def results_on(record, folder, monkeypatch, capsys):
    """What the results page prints when `record` is the book's."""
    write(folder / "nvidia-h200.json", record)
    monkeypatch.setattr(shelf, "FOLDER", folder)
    page = nbformat.read(BOOK / "results.ipynb", as_version=4)
    shell = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    for cell in page.cells:
        if cell.cell_type == "code" and cell.id != "bootstrap":
            shell.run_cell(cell.source).raise_error()
    return capsys.readouterr().out


def test_results_can_be_told_without_torch_compile_and_hardware_counters(
    tmp_path, monkeypatch, capsys
):
    skipped = {
        "torch.compile": "torch.compile cannot be had: no C compiler",
        "torch.compile (8, 512) float32": "torch.compile refuses (8, 512): backend='inductor' raised",
        "ncu": "ncu (Nsight Compute) is not on the PATH, so no hardware counters are read.",
    }
    record = content(skipped=skipped, counters=[])
    record["rows"] = [row for row in record["rows"] if row["provider"] != "torch.compile"]
    told = results_on(record, tmp_path, monkeypatch, capsys)
    assert "torch.compile: cannot be had: no C compiler\n" in told
    assert "torch.compile: backend='inductor' raised\n    (8, 512)\n" in told
    assert "ncu: ncu (Nsight Compute) is not on the PATH" in told
