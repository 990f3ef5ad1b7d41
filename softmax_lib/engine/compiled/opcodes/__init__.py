"""How each opcode is read: its operands and modifiers, and which operation of the interpreter it is."""

from importlib import import_module

from softmax_lib.engine.compiled.draft import READERS

__all__ = ["READERS"]

for _name in "exchanges floats flow halves memory wholes".split():
    import_module(f"{__name__}.{_name}")
