// What is inlined where: a barrier's frames are on a thousand stacks at once, and small for that.
#pragma once

// On the path of every barrier and warp call.
#define EMULATOR_HOT inline __attribute__((always_inline))
// Rare, and so out of line: what it keeps on the stack must not be in the frame of a fast barrier.
#define EMULATOR_COLD __attribute__((noinline, cold))
