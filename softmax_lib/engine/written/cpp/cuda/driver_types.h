// The emulator puts all of CUDA that it has before every source; this file only has to exist.
