"""How each PTX opcode is read: its operands and modifiers, and which operation of the interpreter it is."""
