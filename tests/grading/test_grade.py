"""`grade`: whatever is handed in gets a sentence at its own line, and the best points are kept."""

import json
import math
import re
import subprocess
import sys
import textwrap
from html import unescape

import numpy as np
import pytest

from softmax_lib import errors, exercise, exercises, grade, scores
from softmax_lib.grading.grade import judge, solution
from softmax_lib.grading.handed_in import first_difference
from softmax_lib.grading.references import REFERENCES
from softmax_lib.worklog.files import readers_folder

TREE = exercises()["shared_pairs"]
WHOLE = TREE.with_part(TREE.solution).text
BREAK = exercises()["math_minimum"]
ENDLESS = "while (true) {}\nfloat row_max = 0, scale = 1;"


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", "1")


def said(given):
    return " ".join(one.says for one in given.findings)


def test_a_part_and_a_whole_kernel_and_a_file_are_graded_alike(tmp_path):
    path, part = tmp_path / "mine.cu", tmp_path / "part.cu"
    path.write_text(WHOLE)
    part.write_text(TREE.solution)
    first, *others = [grade("shared_pairs", one) for one in (TREE.solution, WHOLE, path, part)]
    assert first.ok
    assert others == 3 * [first]
    part.write_text("\nint a = ;\n" + TREE.solution)
    assert "at line 2 of your code" in said(grade("shared_pairs", part))  # an empty line counts too


def test_a_line_is_counted_from_the_top_of_what_a_reader_wrote():
    broken = "\n    int a;\n" + TREE.solution.replace(
        "float row_max", "float row_max = ;\n    float"
    )
    told = said(grade("shared_pairs", broken))
    assert "it does not compile" in told
    lines = broken.splitlines()
    wrong = next(i for i, line in enumerate(lines) if "row_max = ;" in line)
    assert f"at line {wrong} of your code" in told  # that of the opening quotes has no number


@pytest.mark.parametrize(
    ("part", "words"),
    [(4 * "// more lines\n" + "float row_max = 0.0f;", "* scale"), ("// row_max?", "row_max")],
)
def test_a_line_of_the_kernel_around_is_that_of_the_listing(part, words):
    told = said(grade("shared_pairs", part))
    line = int(told.split(" at line ")[1].split()[0])
    assert words in TREE.with_part(TREE.starter).text.splitlines()[line - 1]


def test_a_line_of_a_whole_kernel_is_that_of_the_file():
    whole = WHOLE.replace("    float row_max", "    oops;\n    float row_max")
    told = said(grade("shared_pairs", whole))
    line = whole.splitlines().index("    oops;") + 1
    assert f"at line {line}." in told


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ("float row_max = *(float*)0, scale = 1;", "illegal address"),
        (ENDLESS, "hang: no thread finished for 1 s"),
        ("return;\nfloat row_max = 0.0f, scale = 1.0f;", "it never writes into y."),
        ("}", "it does not compile"),
        ("", "nothing was handed in."),
        ("import torch\nrow_max = torch.max(x)", "this is Python, and what is asked for is CUDA C++"),
        ("for i in range(tid):\n    row_max = x", "this is Python, and what is asked for is CUDA C++"),
        ("// \\", "it does not compile"),
        ("float row_max = 0, scale = 1; asm(\"trap;\");", "inline PTX"),
        ("float row_max = x[1 << 20], scale = 1;", "illegal address"),
        ("float row_max = thread_max / 0, scale = 1;", "launches are wrong"),
        ("// a __global__ word", "was not declared in this scope"),
        ("abort(); float row_max = 0, scale = 1;", "calls abort(), a function of the host, which a GPU does not have."),
        ("#include <cstdio>\nint a = ;", "at line 2 of your code"),
        (WHOLE + WHOLE.replace("softmax_one_tree", "other"), "2 kernels in what was handed in"),
        (WHOLE.replace("softmax_one_tree", "mine"), "called mine, and the exercise launches softmax_one_tree"),
    ],
)  # fmt: skip
def test_whatever_is_handed_in_gets_a_sentence(part, sentence):
    given = grade("shared_pairs", part)
    assert not given.ok
    assert sentence in said(given)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("keep_dims=True))", "keep_dims=True)", "at line 6 of your code"),
        ("share = power", "share = pwer", "Triton's interpreter stopped: NameError: name 'pwer' is not defined at line 7 of your code."),
        ("share = power", "import math\n    share = power", "it does not compile: unsupported AST node type: Import at line 7 of your code."),
        ("share = power", "\0share = power", "it does not compile: there is a NUL character, which is no text at line 7 of your code."),
    ],
)  # fmt: skip
def test_triton_is_told_at_its_own_lines_too(old, new, sentence):
    part = exercises()["triton_rows"].solution.replace(old, new, 1)
    told = said(grade("triton_rows", part))
    assert sentence in told
    assert "softmax_lib" not in told


def test_what_a_kernel_prints_is_not_shown(capsys):
    part = 'printf("%d", tid);\n' + TREE.solution
    assert grade("shared_pairs", part).ok
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("softmax_naive", "mine"),
        ("row >= rows", "row > rows"),
        ("// 3. write;", "row_max = 0.0f;  // 3. write;"),
        ("float scale = 1.0f / row_sum;", "float scale = 1.0f;"),
    ],
)
def test_a_whole_kernel_to_break_differs_from_the_listing_in_the_marked_part_alone(old, new):
    text = BREAK.source.text.replace(old, new)
    line = 1 + text[: text.index(new)].count("\n")
    told = said(grade("math_minimum", text))
    assert f"line {line} of your kernel is not as in the listing" in told


def test_a_whole_kernel_that_is_written_may_look_otherwise():
    larger = "__device__ float larger(float a, float b) { return a > b ? a : b; }"
    helped = WHOLE.replace('extern "C"', f'{larger}\n\nextern "C"')
    assert grade("shared_pairs", helped.replace("value > thread_max", "thread_max < value")).ok


def test_spaces_and_comments_of_a_whole_kernel_do_not_count():
    bare = re.sub(r"//[^\n]*", "", WHOLE).replace("    ", "\t").replace(" = ", "  =\n")
    assert grade("shared_pairs", "// mine\n\n" + bare).ok
    simple = exercises()["triton_rows"]
    assert first_difference(simple, simple.source.text) is None
    without = simple.source.text.partition("import triton.language as tl\n")[2]
    assert first_difference(simple, without) is None


@pytest.mark.parametrize("most", [0, 1, 40, 200, 700, 1100])
def test_a_kernel_that_ends_early_or_goes_on_is_not_the_listing_s(most):
    assert first_difference(BREAK, BREAK.source.text[:most]) is not None
    assert first_difference(BREAK, BREAK.source.text + "int more;") is not None


def test_very_long_words_are_cut():
    told = said(grade("shared_pairs", f"float row_max = {'a' * 5000};"))
    assert "a" * 40 in told
    assert len(told) < 300
    with pytest.raises(errors.WrongType) as error:
        grade("shared_banks", "4" * 5000)
    assert len(str(error.value)) < 200


def test_what_is_no_exercise_is_an_error_that_names_the_nearest():
    with pytest.raises(errors.UnknownExercise, match="did you mean shared_pairs"):
        grade("shared_three", "")
    with pytest.raises(errors.UnknownExercise, match="there are math_shift"):
        exercise("?")
    with pytest.raises(errors.WrongType, match="a word, and not a int"):
        grade(3, "")


@pytest.mark.parametrize(
    ("name", "answers", "error", "words"),
    [
        ("shared_pairs", [None, 3, b"text", ["a"], ("a", "b"), ()], errors.WrongType, "answered by CUDA"),
        ("shared_banks", ["4", None, True, [None], np.bool_(True)], errors.WrongType, "answered by numbers, stride"),
        ("shared_banks", [0, -4, 4.5, 10**9, 10**400, math.nan, math.inf], errors.BadInput, "is a whole number from 1 to 256"),
        ("shared_banks", [(4, 4), ()], errors.BadInput, "takes 1 number, stride"),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_an_error(name, answers, error, words):
    for answer in answers:
        with pytest.raises(error, match=words):
            grade(name, answer)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("shared_banks", [8]),
        ("shared_banks", [(8.0,)]),
        ("copy_rest", [3, 5]),
        ("copy_rest", [[3, 5]]),
        ("copy_rest", [np.int64(3), np.uint8(5)]),
        ("half_bytes", [np.float32(1.25)]),
    ],
)
def test_a_number_may_stand_alone_or_in_a_tuple_and_be_numpy_s(name, answer):
    assert grade(name, *answer).ok


# ---- points


def test_the_best_points_are_kept():
    assert scores().points == 0
    grade("shared_banks", 8)
    grade("shared_banks", 5)
    assert scores().points == 1
    assert f", 1 of {len(exercises())} exercises solved" in scores().total
    (kept,) = [one for one in scores().rows if one.name == "shared_banks"]
    assert kept.words == "1 of 1"


def test_points_of_two_processes_at_once_are_all_kept(tmp_path):
    code = "import sys; from softmax_lib.grading import scores\nfor name in sys.argv[1:]: scores.keep(name, 1)"
    names = list(exercises())
    running = [subprocess.Popen([sys.executable, "-c", code, *part]) for part in (names[::2], names[1::2])]  # fmt: skip
    assert [one.wait() for one in running] == [0, 0]
    assert scores().points == len(names)


NEARLY = "// row_max?\n" + TREE.starter


def test_each_failure_brings_the_next_hint_and_the_last_one_the_solution():
    told = [grade("shared_pairs", NEARLY) for _ in range(4)]
    for number, given in zip((1, 2, 3, 3), told, strict=True):
        assert given.help == f"Hint {number} of 3: {TREE.hints[number - 1]}"
    assert [bool(given.solution) for given in told] == [False, False, True, True]
    assert TREE.hints[0].split()[-1] in str(told[0])


def test_once_solved_the_grade_says_why_and_has_the_solution():
    given = grade("shared_pairs", TREE.solution)
    assert given.help == TREE.afterwards
    assert given.solution == TREE.solution_text
    assert grade("shared_banks", 8).solution == "stride = 8"


def test_the_solution_is_refused_until_the_last_hint_was_had_or_it_is_solved():
    with pytest.raises(errors.BadInput, match=r"after the last of 3 hints; .* you have had 0"):
        solution("shared_pairs")
    for _ in range(3):
        grade("shared_pairs", NEARLY)
    assert TREE.solution_text in solution("shared_pairs")
    grade("shared_banks", 8)
    assert "stride = 8" in solution("shared_banks")


def test_what_an_exercise_begins_with_is_nobody_s_failure():
    for answer in (TREE.starter, "\n" + textwrap.dedent(TREE.starter)):
        given = grade("shared_pairs", answer)
        assert "this is where it begins" in str(given)
        assert "not yet" not in str(given)
    assert grade("shared_banks", 1).is_starter
    assert not readers_folder("exercises").exists()


def keep(content):
    path = readers_folder("exercises") / "scores.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    "content", ["", "[]", '{"shared_banks": "all"}', '{"shared_banks": -1}', "\x00"]
)
def test_a_damaged_file_of_points_is_named_and_left_alone(content):
    path = keep(content)
    with pytest.raises(errors.BadInput, match=r"scores\.json does not hold points"):
        scores()
    with pytest.warns(UserWarning, match="Your points are not kept"):
        assert grade("shared_banks", 8).ok
    assert path.read_text() == content


def test_points_of_an_exercise_that_is_no_more_are_kept_and_not_counted():
    path = keep('{"older": 3, "shared_banks": 9}')
    assert scores().points == 1
    grade("half_bytes", 1.25)
    assert json.loads(path.read_text()) == {"older": 3, "shared_banks": 9, "half_bytes": 1}


def test_where_nothing_can_be_written_the_grade_is_given_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="Your points are not kept"):
        assert grade("shared_banks", 8).ok


# ---- what is shown


def test_an_exercise_tells_its_task_without_widgets_too():
    shown = exercise("shared_pairs")
    told = shown.fallback["text/plain"]
    assert "One tree, not two" in told
    assert TREE.starter in told
    html = shown.fallback["text/html"]
    assert html.count("<details>") == html.count("</details>") == 1
    assert TREE.hints[0][:20] not in html
    assert TREE.why[:20] not in html
    own = re.findall("<ins><span[^>]*>[ 0-9]*</span>(.*?)</ins>", html)
    assert [unescape(re.sub("<[^>]*>", "", line)) for line in own] == TREE.starter.splitlines()


def test_a_grade_is_the_same_in_words_and_in_html_and_judging_alone_keeps_nothing():
    given = judge(TREE, TREE.starter)
    assert not readers_folder("exercises").exists()
    bundle = given._repr_mimebundle_()
    assert bundle["text/plain"] == str(given)
    assert bundle["text/html"].count("<li>") == len(given.findings)
    assert all(len(line) <= 72 for line in str(given).splitlines())


@pytest.mark.parametrize(("value", "is_right"), [(-np.inf, True), (-1e30, False), (np.nan, False)])
def test_where_an_infinity_is_due_no_large_number_will_do(value, is_right):
    x = np.array([[0.0, -np.inf, 1.0]], np.float32)
    y = np.array([[-1.3132617, value, -0.3132617]], np.float32)
    assert (REFERENCES["log_softmax"].judge(y, x).mistake is None) is is_right
