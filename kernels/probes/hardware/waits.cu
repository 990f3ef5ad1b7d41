// waits: each warp of one block takes turns: one load from DRAM, then arithmetic that needs it; and notes the clock.
//   next     a chain of places, far apart      starts   where each warp enters it
//   spent    (warps, turns, 2): the cycle in which a load was asked for, and the one in which it had come
//   work     multiplications per turn, each of which waits for the one before

#define NOWHERE 0xffffffffu

extern "C" __global__ void probe_waits(
    const unsigned* next, const unsigned* starts, long long* spent, float* sink, int turns, int work) {
    int warp = threadIdx.x / WARP;
    long long* mine = spent + (long long)warp * turns * 2;
    unsigned at = starts[warp];
    float value = 1.0f;
    __syncthreads();
    for (int turn = 0; turn < turns; turn++) {
        long long asked = clock64();
        at = next[at];
        if (at == NOWHERE) break;  // never so; but nobody can know before the load has come
        long long came = clock64();
        for (int i = 0; i < work; i++) value = value * value + at;
        if (value == 12345.678f) *sink = value;
        if (threadIdx.x % WARP == 0) {
            mine[turn * 2] = asked;
            mine[turn * 2 + 1] = came;
        }
    }
}
