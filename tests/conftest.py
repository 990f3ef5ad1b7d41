"""What the tests share: where to launch, and a table of what was compiled."""

import pytest


def pytest_terminal_summary(terminalreporter):
    """What test_compile found: registers and bytes of shared memory of each compilation, arch by arch."""
    lines = [
        (report.nodeid.partition("[")[2].rstrip("]"), report.user_properties)
        for report in terminalreporter.stats.get("passed", [])
        if "test_compile" in report.nodeid and report.user_properties
    ]
    if lines:
        terminalreporter.section("registers/shared bytes by arch")
    for name, properties in sorted(lines):
        found = "  ".join(f"{arch} {resources}" for arch, resources in properties)
        terminalreporter.write_line(f"{name:24} {found}")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Where to launch: "cpu" is the emulator."""
    return request.param
