// A library of the host, whose calls are left out before the emulator compiles: this file only has to exist.
