// The first k of a row in order: the largest before the others, NaN before them all, equal numbers
// by their place.
#pragma once

#include "settled.cuh"
#include "share.cuh"

// A number's bits as an integer that is in order where the number is; every NaN is one.
__device__ inline unsigned ordered(float number) {
    unsigned bits = __float_as_uint(number + 0.0f);  // -0 and 0 are equal
    return number != number ? 0xffffffff : bits ^ ((unsigned)((int)bits >> 31) | 0x80000000);
}

__device__ inline float number_of(unsigned ordered) {
    return __uint_as_float(ordered & 0x80000000 ? ordered ^ 0x80000000 : ~ordered);
}

// A number and its place in the row as one integer, the key: what comes first is larger. 0 stands
// for nothing, and as a number it is NaN.
struct Wide {
    typedef unsigned long long Key;
    __device__ static Key key(float number, unsigned place) {
        return (Key)ordered(number) << 32 | ~place;
    }
    __device__ static float number(Key key) { return number_of((unsigned)(key >> 32)); }
    __device__ static unsigned place(Key key) { return ~(unsigned)key; }
};

// In half the bits, of bfloat16 in rows of at most 65536.
struct Narrow {
    typedef unsigned Key;
    __device__ static Key key(float number, unsigned place) {
        return (ordered(number) & 0xffff0000) | (0xffff - place);
    }
    __device__ static float number(Key key) {
        return number_of(key & 0x80000000 ? key & 0xffff0000 : key | 0xffff);
    }
    __device__ static unsigned place(Key key) { return 0xffff - (key & 0xffff); }
};

// Of a number of each lane: the largest, and the sum. Since compute capability 8.0 one instruction.
__device__ inline unsigned warp_max(unsigned number) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffff, number);
#else
#pragma unroll
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        number = max(number, __shfl_xor_sync(0xffffffff, number, apart));
    return number;
#endif
}

__device__ inline unsigned warp_sum(unsigned number) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffff, number);
#else
#pragma unroll
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        number += __shfl_xor_sync(0xffffffff, number, apart);
    return number;
#endif
}

__device__ inline unsigned long long warp_max(unsigned long long key) {
    unsigned high = (unsigned)(key >> 32), highest = warp_max(high);
    unsigned low = warp_max(high == highest ? (unsigned)key : 0);
    return (unsigned long long)highest << 32 | low;
}

// What is known of a row in the end, by the warp that writes its first numbers.
template <typename In>
__device__ Results<In, In, false> known_of(Pair row, const In* x, long long cols) {
    using Finish = Results<In, In, false>;
    if (!Finish::is_sure(row, cols, WARP))
        row = Finish::exactly(row, cols, WarpTeam<WARP>(),
                              [=](long long col) { return to_float(x[col]); });
    return Finish(Finish::whole(row));
}

template <typename Key> __device__ Key one_of(Key a, Key b, bool larger) {
    return larger == (a > b) ? a : b;
}

// A key of each lane in order, the smallest to lane 0: a bitonic network.
template <typename Key> __device__ Key sort_up(Key key, int lane) {
#pragma unroll
    for (int size = 2; size <= WARP; size *= 2)
#pragma unroll
        for (int apart = size / 2; apart > 0; apart /= 2) {
            bool up = size == WARP || !(lane & size);
            Key other = __shfl_xor_sync(0xffffffff, key, apart);
            key = one_of(key, other, up != !(lane & apart));
        }
    return key;
}

// The DEEP * 32 largest keys that a warp has seen, in order, the largest in keys[0] of lane 0.
template <typename Key, int DEEP> struct Best {
    Key keys[DEEP];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < DEEP; i++) keys[i] = 0;
    }

    // One more key of each lane, the smallest in lane 0: against the last 32 from behind.
    __device__ void merge(Key more, int lane) {
        if (is_empty()) {
            keys[0] = __shfl_sync(0xffffffff, more, WARP - 1 - lane);
            return;
        }
        keys[DEEP - 1] = max(keys[DEEP - 1], more);
        settle(lane);
    }

    // As many more, which write() has put there.
    __device__ void merge(const Key* written, int lane) {
#pragma unroll
        for (int i = 0; i < DEEP; i++)
            keys[i] = max(keys[i], written[(DEEP - i) * WARP - 1 - lane]);
        settle(lane);
    }

    __device__ void write(Key* to, int lane) const {
#pragma unroll
        for (int i = 0; i < DEEP; i++) to[i * WARP + lane] = keys[i];
    }

    __device__ bool is_empty() const { return !__any_sync(0xffffffff, keys[0] != 0); }

    // The one that `before` keys are before.
    __device__ Key at(int before) const {
        Key key = keys[0];
#pragma unroll
        for (int i = 1; i < DEEP; i++)
            if (before / WARP == i) key = keys[i];
        return __shfl_sync(0xffffffff, key, before % WARP);
    }

    // Into order what falls and then rises: the last steps of a bitonic network.
    __device__ void settle(int lane) {
#pragma unroll
        for (int apart = DEEP / 2; apart > 0; apart /= 2)
#pragma unroll
            for (int i = 0; i < DEEP; i++) {
                if (i & apart) continue;
                Key a = keys[i], b = keys[i + apart];
                keys[i] = max(a, b);
                keys[i + apart] = min(a, b);
            }
#pragma unroll
        for (int apart = WARP / 2; apart > 0; apart /= 2)
#pragma unroll
            for (int i = 0; i < DEEP; i++) {
                Key other = __shfl_xor_sync(0xffffffff, keys[i], apart);
                keys[i] = one_of(keys[i], other, !(lane & apart));
            }
    }
};
