// Which numbers of a row one block has, and one thread: chunks of 16 bytes, and single ones at the
// edges.
#pragma once

#include "numbers.cuh"

// A row begins anywhere; its chunks begin at the next boundary, so that a warp's store fills whole
// lines of 128 bytes. What lies before them and behind them, the edges, are single numbers, one for
// each of the first threads of the row's first block.
template <typename T, int THREADS, bool EDGES> struct Share {
    static constexpr int N = Chunk<T>::NUMBERS;
    // in bytes; with 128, up to 144 lie at the edges, and each number there needs a thread
    static constexpr int BOUNDARY = THREADS * (int)sizeof(T) >= 144 ? 128 : 16;
    static constexpr int LINE = 8;  // chunks

    int thread;
    int chunks;        // of this block
    long long first;   // number of the row that this block's chunks begin with
    int head, edges;   // numbers before the first chunk; these and those behind the last
    long long behind;  // the first number behind the last chunk

    __device__ Share(const T* row, long long cols, int thread, int rank, int blocks)
        : thread(thread) {
        int misaligned = EDGES ? (unsigned)(unsigned long long)row % BOUNDARY / sizeof(T) : 0;
        head = misaligned ? (int)min((long long)(BOUNDARY / (int)sizeof(T) - misaligned), cols) : 0;
        unsigned all = (cols - head) / N;  // 2^31 chunks are 32 GB
        unsigned each = blocks == 1 ? all : ((all + blocks - 1) / blocks + LINE - 1) / LINE * LINE;
        chunks = max(min((long long)all - (long long)rank * each, (long long)each), 0LL);
        first = head + (long long)rank * each * N;
        behind = head + (long long)all * N;
        edges = EDGES && rank == 0 ? int(head + cols - behind) : 0;
    }

    __device__ bool has(int i) const { return at(i) < chunks; }
    __device__ int at(int i) const { return thread + i * THREADS; }
    __device__ bool has_edge() const { return EDGES && thread < edges; }
    __device__ long long edge() const { return thread < head ? thread : behind + thread - head; }
};

template <typename T> __device__ bool is_aligned(const T* at) {
    return (unsigned long long)at % 16 == 0;
}

// How loads and stores treat the caches: as ever; stores to L2 and no further, or as written and
// not needed again; loads into lines of L2 that make room last.
enum Policy { PLAIN, L2, STREAMING, EVICT_LAST };

__device__ inline unsigned long long evict_last() {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ inline unsigned shared_address(const void* p) {
    return (unsigned)__cvta_generic_to_shared(p);
}

template <typename T> __device__ Chunk<T> load(const T* from, bool aligned) {
    if (aligned) return Chunk<T>::of(*reinterpret_cast<const uint4*>(from));
    Chunk<T> chunk;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float numbers[2];
#pragma unroll
        for (int k = 0; k < Word<T>::NUMBERS; k++)
            numbers[k] = to_float(from[j * Word<T>::NUMBERS + k]);
        chunk.words[j] = Word<T>::pack(numbers);
    }
    return chunk;
}

// The chunk at `from + at` where the row has it, else `other`. A branch around assembly would stay a
// branch, and so it has a predicate.
template <Policy POLICY, typename T>
__device__ Chunk<T> load_if(bool has, const T* from, long long at, bool aligned, Chunk<T> other) {
    if (POLICY == EVICT_LAST && aligned)
        asm volatile("{ .reg .pred has;\n"
                     "setp.ne.b32 has, %5, 0;\n"
                     "@has ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %6; }"
                     : "+r"(other.words[0]), "+r"(other.words[1]), "+r"(other.words[2]),
                       "+r"(other.words[3])
                     : "l"(from + at), "r"((int)has), "l"(evict_last()));
    else if (has)
        other = load(from + at, aligned);
    return other;
}

template <Policy POLICY> __device__ void store_words(uint4* to, uint4 words) {
    if constexpr (POLICY == STREAMING)
        __stcs(to, words);
    else if constexpr (POLICY == L2)
        __stcg(to, words);
    else
        *to = words;
}

// COUNT numbers, as many as one chunk of the input has, which may be two chunks of T or half of one
template <typename T, Policy POLICY, int COUNT>
__device__ void store(T* to, const float (&numbers)[COUNT], bool aligned) {
    using W = Word<T>;
    constexpr int N = Chunk<T>::NUMBERS, EACH = W::NUMBERS;
    if (!aligned) {
#pragma unroll
        for (int j = 0; j < COUNT; j++) to[j] = from_float<T>(numbers[j]);
    } else if constexpr (COUNT < N) {
        *reinterpret_cast<uint2*>(to) = make_uint2(W::pack(numbers), W::pack(numbers + EACH));
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; k += N)
            store_words<POLICY>(
                reinterpret_cast<uint4*>(to + k),
                make_uint4(W::pack(numbers + k), W::pack(numbers + k + EACH),
                           W::pack(numbers + k + 2 * EACH), W::pack(numbers + k + 3 * EACH)));
    }
}
