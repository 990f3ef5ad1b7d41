"""A launch one instruction at a time in a page: the same from wherever one comes, the engine's counts, and in time."""

import pytest
from playwright.sync_api import expect

from softmax_lib import kernels

from .test_pages import overflow, violations
from .test_xray_in_page import PAGE

pytestmark = pytest.mark.site

OPEN = """const { openSteps, showSteps } = await import(new URL("../_static/step.mjs", location));
    const steps = async (name, rows, cols) => { const one = openSteps(name, { rows, cols }); return { ...one, about: await one.opened }; };"""


@pytest.fixture
def ask(open_page):
    """A function that does some JavaScript in a page with `steps(name, rows, cols)`, which opens a launch."""
    page = open_page(PAGE)
    yield lambda body, *given: page.evaluate(f"async (given) => {{ {OPEN} {body} }}", given)
    assert page.problems == []


@pytest.mark.parametrize(("name", "block", "warp"), [("naive", 1, 0), ("shared", 2, 5)])
def test_a_step_is_the_same_from_wherever_one_comes(ask, name, block, warp):
    ways = ask("""const [name, block, warp] = given, { ask } = await steps(name, 40, 4096);
        const { length } = await ask("trace", block, warp), up = Array.from({ length: 12 }, (_, n) => Math.floor((n * (length - 1)) / 11)), found = [];
        for (const way of [up, up.toReversed()]) {
            const all = [];
            for (const step of way) all.push(JSON.stringify(await ask("at", { block, warp, step }), (_, one) => (ArrayBuffer.isView(one) ? Array.from(one) : one)));
            await ask("trace", 0, 0);
            found.push(all);
        }
        return found;""", name, block, warp)  # fmt: skip
    assert ways[0] == ways[1][::-1]
    assert len(set(ways[0])) == 12


@pytest.mark.parametrize(("name", "rows", "cols"), [("naive", 40, 77), ("shared", 3, 1003)])
def test_steps_of_all_warps_are_what_an_xray_counts(ask, name, rows, cols):
    stepped, counted = ask("""const [name, rows, cols] = given, { about, ask } = await steps(name, rows, cols), lines = {};
        for (let block = 0; block < about.blocks; block++)
            for (let warp = 0; warp < about.warps; warp++)
                for (const at of await ask("trace", block, warp)) lines[about.lines[at]] = (lines[about.lines[at]] ?? 0) + 1;
        const wanted = {};
        for (const { file, line, warps } of (await worklog.xray(name, { rows, cols })).instructions) wanted[[file, line]] = (wanted[[file, line]] ?? 0) + warps;
        return [lines, wanted];""", name, rows, cols)  # fmt: skip
    assert stepped == counted


@pytest.mark.alone
@pytest.mark.full
@pytest.mark.parametrize("name", ["shared", "naive"])
def test_any_step_of_any_warp_is_there_in_100_ms(ask, name):
    times = sorted(ask("""const { about, ask } = await steps(given[0], 64, 4096), times = [], draw = (n) => Math.floor(Math.random() * n);
        for (let n = 0; n < 20; n++) {
            const begun = performance.now(), [block, warp] = [draw(about.blocks), draw(about.warps)];
            await ask("at", { block, warp, step: draw((await ask("trace", block, warp)).length) });
            times.push(performance.now() - begun);
        }
        return times;""", name))  # fmt: skip
    assert times[10] < 100, times
    assert times[-1] < 300, times


@pytest.mark.parametrize("width", [1440, 390])
def test_a_reader_steps(open_page, width):
    page = open_page("book/xray.html", width=width)
    page.evaluate(f"""async (source) => {{ {OPEN}
        const place = document.querySelector(".worklog-run").appendChild(document.createElement("div"));
        await showSteps(place, "shared", {{ rows: 64, cols: 4096 }}, source, {{ block: 64 }});
        window.told = place.textContent;
        window.go = await showSteps(place, "shared", {{ rows: 64, cols: 4096 }}, source, {{ block: 3, warp: 2, step: 23 }}, (at) => (window.at = at));
    }}""", {(one := kernels["shared"].source).file_name: one.text})  # fmt: skip
    panel = page.locator(".worklog-steps")
    status = panel.get_by_role("status")
    panel.press("ArrowRight")
    assert "There is no block 64: shared has blocks 0 to 63. LDC" in page.evaluate("told")
    expect(status).to_contain_text("LDG.E.CONSTANT R9, desc[UR10][R8.64] of 05_shared.cu:18. A global load of x by 32 of 32 lanes: 128 bytes, in 4 sectors of 32 bytes.")  # fmt: skip
    assert page.evaluate("at") == {"block": 3, "warp": 2, "step": 24}
    panel.get_by_label("lane 5", exact=True).check()
    expect(panel).to_contain_text(f"Lane 5 asks for x[{3 * 4096 + 2 * 32 + 5}]")
    current = panel.locator("[aria-current]")
    assert [one.split(None, 1)[1] for one in current.all_text_contents()] == ["float value = x_row[col];", "LDG.E.CONSTANT R9, desc[UR10][R8.64]"]  # fmt: skip
    panel.get_by_label("Block").fill("64")
    panel.get_by_label("Block").press("Enter")
    expect(status).to_have_text("There is no block 64: shared has blocks 0 to 63.")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    expect(page.locator("#pst-back-to-top")).to_be_hidden()  # the theme's
    assert overflow(page) == []
    assert page.problems == []
    assert violations(page) == []
