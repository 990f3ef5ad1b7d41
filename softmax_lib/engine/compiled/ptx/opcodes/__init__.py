"""How each PTX opcode is read: its operands and modifiers, and which operation of the interpreter it is."""

from importlib import import_module

from softmax_lib.engine.compiled.ptx.form import READERS

__all__ = ["READERS"]

for _name in "accesses bits flow numbers".split():
    import_module(f"{__name__}.{_name}")
