// chain: one thread whose operations each wait for the one before: arithmetic, or loads of shared memory.
//   next     where to go from each of 1024 places    spent   cycles of `hops` operations, and where they ended
//   SHARED   1 for loads, 0 for multiplying and adding in registers

#define PLACES 1024

extern "C" __global__ void probe_chain(const unsigned* next, long long* spent, int hops) {
    __shared__ unsigned places[PLACES];
    for (int i = 0; i < PLACES; i++) places[i] = next[i];
    unsigned at = places[0];
    float value = at, factor = next[1], more = next[2];
    long long start = clock64();
#pragma unroll 32
    for (int hop = 0; hop < hops; hop++) {
#if SHARED
        at = places[at];
#else
        value = value * factor + more;
#endif
    }
    spent[0] = clock64() - start;
    spent[1] = at + (long long)value;
}
