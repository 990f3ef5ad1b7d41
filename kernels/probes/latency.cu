// latency: one thread follows a chain of indices, so that each load waits for the one before.
//   next     where to go from each place    spent   cycles and nanoseconds of `hops` loads, and the last place

extern "C" __global__ void probe_latency(const unsigned* next, long long* spent, int hops) {
    unsigned at = 0;
    // once around, or so far that the caches hold what they can
    for (int hop = 0; hop < hops; hop++) at = next[at];
    long long start_ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start_ns));
    long long start = clock64();
    for (int hop = 0; hop < hops; hop++) at = next[at];
    spent[0] = clock64() - start;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
    spent[1] = end_ns - start_ns;
    spent[2] = at;
}
