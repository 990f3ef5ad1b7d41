"""What a thread keeps prepared: its own, and no more than it may."""

import threading

from softmax_lib.gpu.prepared import OfThisThread


def test_each_thread_has_a_table_of_its_own():
    kept = OfThisThread()
    kept.keep(("a",), 1, at_most=4)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(dict(kept.table)))
    thread.start()
    thread.join()
    assert seen == [{}]
    assert kept.table == {("a",): 1}


def test_a_full_table_begins_anew():
    kept = OfThisThread()
    for number in range(9):
        kept.keep((number,), number, at_most=4)
        assert len(kept.table) <= 4
        assert kept.table[number,] == number
