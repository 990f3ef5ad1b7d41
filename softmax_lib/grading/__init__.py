"""Exercises and their graders: a task, a kernel with its idea missing, and what a machine says of what is put there.

An exercise is a file of `book/exercises`: the kernel and the place in it, hints, goals as counters of an x-ray or as rows
that go wrong, and attempts of which it is known what is to be said. Nothing about one exercise is in the code.
"""
