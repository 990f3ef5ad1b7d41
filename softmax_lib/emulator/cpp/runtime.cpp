// The runtime as one translation unit: it compiles in half the time, and calls between parts inline.
#include "fibers.cpp"
#include "diagnosis.cpp"
#include "scheduler.cpp"
#include "signals.cpp"
#include "meter.cpp"
#include "trace.cpp"
#include "memory.cpp"
#include "launch.cpp"
