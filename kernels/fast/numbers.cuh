// Numbers of 32 and 16 bits, and the words of 32 bits that registers hold them in.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(__half value) { return __half2float(value); }
__device__ inline float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T> __device__ T from_float(float value) { return value; }
template <> __device__ inline __half from_float<__half>(float value) {
    return __float2half_rn(value);
}
template <> __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
    return __float2bfloat16_rn(value);
}

// The larger of two numbers; NaN where one of them is.
__device__ inline float max_or_nan(float a, float b) {
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return a > b || a != a ? a : b;
#endif
}

// A register of one number, or of two. A kernel unpacks its words twice, before the sum and before
// the store, in two ways: were they one, the compiler would keep what the first made, and run out
// of registers.
template <typename T> struct Word;

template <> struct Word<float> {
    static constexpr int NUMBERS = 1;
    static constexpr unsigned LOWEST = 0xff800000;  // -infinity
    __device__ static void unpack(unsigned word, float* to) { to[0] = __uint_as_float(word); }
    __device__ static void unpack_again(unsigned word, float* to) { unpack(word, to); }
    __device__ static unsigned pack(const float* from) { return __float_as_uint(from[0]); }
    __device__ static unsigned larger(unsigned a, unsigned b) {
        return __float_as_uint(max_or_nan(__uint_as_float(a), __uint_as_float(b)));
    }
};

template <> struct Word<__nv_bfloat16> {
    static constexpr int NUMBERS = 2;
    static constexpr unsigned LOWEST = 0xff80ff80;
    __device__ static void unpack(unsigned word, float* to) {
        to[0] = __uint_as_float(word << 16);
        to[1] = __uint_as_float(word & 0xffff0000);
    }
    __device__ static void unpack_again(unsigned word, float* to) {
        to[0] = __uint_as_float(__byte_perm(word, 0, 0x1044));
        to[1] = __uint_as_float(__byte_perm(word, 0, 0x3244));
    }
    __device__ static unsigned pack(const float* from) {
        __nv_bfloat162 two = __floats2bfloat162_rn(from[0], from[1]);
        return reinterpret_cast<unsigned&>(two);
    }
    __device__ static unsigned larger(unsigned a, unsigned b) {
        __nv_bfloat162 two =
            __hmax2_nan(reinterpret_cast<__nv_bfloat162&>(a), reinterpret_cast<__nv_bfloat162&>(b));
        return reinterpret_cast<unsigned&>(two);
    }
};

template <> struct Word<__half> {
    static constexpr int NUMBERS = 2;
    static constexpr unsigned LOWEST = 0xfc00fc00;
    __device__ static void unpack(unsigned word, float* to) {
        float2 two = __half22float2(reinterpret_cast<__half2&>(word));
        to[0] = two.x;
        to[1] = two.y;
    }
    __device__ static void unpack_again(unsigned word, float* to) {
        unpack(word ^ 0x80008000, to);
        to[0] = -to[0];
        to[1] = -to[1];
    }
    __device__ static unsigned pack(const float* from) {
        __half2 two = __floats2half2_rn(from[0], from[1]);
        return reinterpret_cast<unsigned&>(two);
    }
    __device__ static unsigned larger(unsigned a, unsigned b) {
        __half2 two = __hmax2_nan(reinterpret_cast<__half2&>(a), reinterpret_cast<__half2&>(b));
        return reinterpret_cast<unsigned&>(two);
    }
};

// 16 bytes: what one load or store moves. As four words they stay one access; a structure of
// numbers would be taken apart.
template <typename T> struct Chunk {
    static constexpr int NUMBERS = 16 / sizeof(T);
    using W = Word<T>;
    unsigned words[4];

    __device__ static Chunk lowest() { return {{W::LOWEST, W::LOWEST, W::LOWEST, W::LOWEST}}; }
    __device__ static Chunk of(uint4 all) { return {{all.x, all.y, all.z, all.w}}; }
    __device__ uint4 all() const { return make_uint4(words[0], words[1], words[2], words[3]); }
    __device__ void unpack(float (&to)[NUMBERS]) const {
#pragma unroll
        for (int j = 0; j < 4; j++) W::unpack(words[j], to + j * W::NUMBERS);
    }
    __device__ void unpack_again(float (&to)[NUMBERS]) const {
#pragma unroll
        for (int j = 0; j < 4; j++) W::unpack_again(words[j], to + j * W::NUMBERS);
    }
};
