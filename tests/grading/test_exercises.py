"""The graders graded: of each exercise the solution passes, and what is wrong fails with the sentence that says why."""

import json
from collections import Counter

import pytest
from full_tables import some
from notebooks import chapters

from softmax_lib.grading.collection import exercises
from softmax_lib.grading.finding import Finding
from softmax_lib.grading.grade import judge, recorded_grade
from softmax_lib.grading.mistakes import look_alike, read, trace

EXERCISES = exercises()
ATTEMPTS, RIGHT = (
    [
        pytest.param(exercise, answer, id=f"{exercise.name}-{number}")
        for exercise in EXERCISES.values()
        for number, answer in enumerate(getattr(exercise, kind), 1)
    ]
    for kind in ("attempts", "right")
)
LEAST_ATTEMPTS, LEAST_RIGHT, OFFERED, HINTS = 10, 8, (4, 5), 3
WITH_A_FAULT = {exercise.chapter for exercise in EXERCISES.values() if exercise.kind == "mend"}
"""Chapters that have a fault to find; all of theirs have many right answers, and mistakes that are known."""
WATCHDOG_S = "1"

every_exercise = pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))


@pytest.fixture(autouse=True)
def _a_hang_is_found_soon(monkeypatch):
    monkeypatch.setenv("SOFTMAX_LIB_WATCHDOG_S", WATCHDOG_S)


@every_exercise
def test_the_solution_passes(exercise):
    given = judge(exercise, exercise.solution)
    assert given.ok, str(given)
    assert given.points == given.out_of == exercise.out_of
    assert given == recorded_grade(exercise, exercise.label), "make outcomes"


@pytest.mark.parametrize(
    "exercise", some([pytest.param(one, id=name) for name, one in EXERCISES.items()], every=6)
)
def test_what_a_reader_begins_with_does_not(exercise):
    assert not judge(exercise, exercise.starter if exercise.wants_code else exercise.guess).ok


@pytest.mark.parametrize(("exercise", "attempt"), some(ATTEMPTS, every=40))
def test_an_attempt_fails_with_the_sentence_that_says_why(exercise, attempt):
    given = judge(exercise, exercise.handed_in(attempt))
    assert not given.ok
    said = " ".join(one.says for one in given.findings if not one.is_met)
    assert attempt.says in said
    assert given.diagnosis == attempt.diagnosis, "make outcomes"
    if attempt.label:
        assert given == recorded_grade(exercise, attempt.label), "make outcomes"


@pytest.mark.parametrize(("exercise", "answer"), some(RIGHT, every=40))
def test_a_right_answer_of_another_style_passes(exercise, answer):
    given = judge(exercise, exercise.handed_in(answer))
    assert given.ok, str(given)
    assert not given.diagnosis


NINE_TIMES = "for (int i = 0; i < 9; i++) "
PASTED = "\n#define PASTE(a, b) a##b\n    auto add = [](float* p) { return PASTE(atomic, Add)(p, 0.0f); }; add(&sums[tid]);\n"


@pytest.mark.parametrize(
    ("name", "before", "more", "says"),
    [
        ("shared_pairs", "    float row_max", f"if (cols != 1000) {NINE_TIMES}__syncthreads();", "with rows = 18, cols = 127, block_size = 256: a block has 18 barriers"),
        ("shared_pairs", "    float row_max", f"if (BLOCK < 256) {NINE_TIMES}__syncthreads();", "with rows = 18, cols = 1000, block_size = 32: a block has 15 barriers"),
        ("shared_pairs", "    float row_max", f"{NINE_TIMES}__barrier_sync(1);", "a block has 18 barriers"),
        ("shared_pairs", "    __syncthreads();\n    for", PASTED, "by an atomic"),
        ("triton_rows", "    share = power", "    if TILE < 128:\n        inside = inside & (tl.sum(tl.sum(inside.to(tl.int32), axis=1), axis=0) > 0)\n", "with cols = 48, num_warps = 4"),
    ],
)  # fmt: skip
def test_a_goal_is_no_matter_of_one_matrix_nor_of_a_spelling(name, before, more, says):
    exercise = EXERCISES[name]
    given = judge(exercise, exercise.solution.replace(before, more + before, 1))
    assert given.points == exercise.out_of - 1, given
    assert says in str(given).replace("\n     ", " ")


def test_an_answer_of_luck_gets_the_same_grade_each_time():
    exercise = EXERCISES["shared_pairs"]
    luck = "if (tid == 0) y[0] = clock64() % 64 + (blockIdx.x ? y[blockIdx.x * cols - 1] : 0.0f);"
    answer = f"{exercise.solution}\n    {luck}"
    assert len({str(judge(exercise, answer)) for _ in range(4)}) == 1


@pytest.mark.quick
@every_exercise
def test_recorded_mistakes_are_those_of_the_file(exercise):
    told = {one.diagnosis for one in exercise.attempts if one.diagnosis and exercise.wants_code}
    assert {says for says, _ in read()[exercise.name]["mistakes"]} == told, "make outcomes"


@pytest.mark.quick
@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ("18x31/32+0 [0,3] 7 0.1234", True),
        ("18x31/32+0 [0,3] 7 0.12341", True),
        ("18x31/32+0 [0,3] 7 0.1334", False),
        ("18x31/32+0 [0,3] 7 nan", False),
        ("18x31/32+0 [0,4] 7 0.1234", False),
        ("18x33/32+0 [0,3] 7 0.1234", False),
        ("18x31/32+0 [0,3,5] 7 0.1234", False),
    ],
)
def test_a_mistake_is_known_by_rows_and_values_within_rounding(other, alike):
    assert look_alike(["18x31/32+0 [0,3] 7 0.1234"], [other]) is alike


@pytest.mark.quick
@every_exercise
def test_an_exercise_has_attempts_enough_and_hints_in_three_stages(exercise):
    assert len(exercise.attempts) >= LEAST_ATTEMPTS
    diagnosed = sum(bool(one.diagnosis) for one in exercise.attempts)
    if exercise.kind in ("write", "mend") and exercise.chapter in WITH_A_FAULT:
        assert len(exercise.right) + 1 >= LEAST_RIGHT
        assert diagnosed >= len(exercise.attempts) / 2
    handed_in = [json.dumps(exercise.handed_in(one)) for one in exercise.attempts]
    assert [one for one, times in Counter(handed_in).items() if times > 1] == []
    assert len(exercise.offered) in OFFERED
    assert sum(recorded_grade(exercise, one.label).ok for one in exercise.offered) == 1
    assert len(exercise.hints) == HINTS


@pytest.mark.quick
@every_exercise
def test_no_label_of_an_attempt_gives_the_right_one_away(exercise):
    lengths = sorted(len(one.label) for one in exercise.offered)
    right = len(exercise.label)
    assert right < lengths[-1] or right <= 1.25 * lengths[-2], "the right one is the longest by far"


@pytest.mark.quick
def test_the_right_answer_of_those_offered_has_no_place_of_its_own():
    places = Counter(
        [attempt.label for attempt in one.offered].index(one.label) for one in EXERCISES.values()
    )
    assert max(places.values()) < len(EXERCISES) / 2
    assert {0, len(next(iter(EXERCISES.values())).offered) - 1} <= set(places)


@pytest.mark.quick
def test_each_chapter_has_one_to_write_and_one_to_break_or_predict():
    kinds = {path.stem: [] for path in chapters() if path.stem[0].isdigit()}
    for exercise in EXERCISES.values():
        kinds[exercise.chapter].append(exercise.kind)
    for chapter, found in kinds.items():
        assert len(found) >= 2, chapter
        assert "write" in found or chapter == "02_pytorch", chapter
        assert {"mend", "break", "predict"} & set(found), chapter


@pytest.mark.quick
@every_exercise
def test_the_part_that_is_cut_out_stands_in_the_book_s_kernel(exercise):
    if exercise.cut:
        assert exercise.source.text.count(exercise.cut) == 1
        starts = exercise.with_part(exercise.starter)
        own = exercise.kind == "break" or exercise.text
        assert own or starts.text != exercise.source.text


@pytest.mark.quick
@pytest.mark.parametrize("place", ["mine.cu:7", "line 3 of your code", "line 12 of the kernel"])
def test_a_mistake_is_known_wherever_it_stands_and_however_long_the_watchdog_waits(place):
    said = [f"hang: no thread finished for {seconds} s at {place}." for seconds in (1, 10)]
    told = {trace([Finding("safe", False, one)]) for one in said}
    assert told == {("hang: no thread finished.",)}


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("online_moments",
         "float sum = 0, all = 0;\nfor (int i = 0; i < cols; ++i) { sum += x_row[i]; all = fmaf(x_row[i], x_row[i], all); }\n"
         "float mean = sum / cols, var = all / cols - mean * mean;", "less the square of the mean"),
        ("naive_columns",
         "int col = blockIdx.x * blockDim.x + threadIdx.x;\nif (col < cols) {\n float m = x[col], s = 0;\n"
         "for (int r = 1; r < rows; r++) m = max(m, x[r * cols + col]);\nfor (int r = 0; r < rows; r++) s += __expf(x[r * cols + col] - m);\n"
         "for (int r = 0; r < rows; r++) y[r * cols + col] = __expf(x[r * cols + col] - m) / s;\n}", "as many columns come out as there are threads"),
        ("naive_columns",
         "for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < rows; col += 1 << 20) {}", ""),
        ("topk_router",
         "int i = threadIdx.x;\nunsigned u = mine >> 32;\nu ^= u >> 31 ? 0x80000000 : ~0u;\nfloat e = __expf(__uint_as_float(u) - warp_max(__uint_as_float(u)));\n"
         "float all = e;\nfor (int b = 1; b < 32; b *= 2) all += __shfl_xor_sync(ALL_LANES, all, b);\n"
         "if (i < K) values[i] = e / all, places[i] = ~(int)mine;", "lanes from K on hold runners-up"),
    ],
)  # fmt: skip
def test_a_mistake_is_known_in_another_s_words(name, answer, says):
    told = judge(EXERCISES[name], answer).diagnosis
    assert says in told
    assert bool(says) == bool(told)
