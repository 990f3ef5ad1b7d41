// CUDA's half precision: __half, pairs of them, and their functions.
#pragma once
#include "sixteen_bits.h"

struct __nv_bfloat16;

#define NUMBER_ __half
#define OTHER_ __nv_bfloat16
#define PAIR_ __half2
#define RAW_ __half_raw
#define RAW_PAIR_ __half2_raw
#define FORMAT_ ::emulator::HalfFormat
#define WORD_ half
#define TWICE_ __half2half2
#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
#define CONVERSIONS_ 1
#endif
#if !defined(__CUDA_NO_HALF_OPERATORS__)
#define OPERATORS_OF_NUMBERS_ 1
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
#define OPERATORS_OF_PAIRS_ 1
#endif
#include "sixteen_bit_numbers.h"

#if !defined(CUDA_NO_HALF)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
#endif

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
