"""PTX, run by the interpreter of machine code: a second witness of what a kernel does, before the assembler."""
