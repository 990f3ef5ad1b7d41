// CUDA's bfloat16, the upper half of a float: __nv_bfloat16, pairs of them, and their functions.
#pragma once
#include "cuda_fp16.h"

#define NUMBER_ __nv_bfloat16
#define OTHER_ __half
#define PAIR_ __nv_bfloat162
#define RAW_ __nv_bfloat16_raw
#define RAW_PAIR_ __nv_bfloat162_raw
#define FORMAT_ ::emulator::BfloatFormat
#define WORD_ bfloat16
#define TWICE_ __bfloat162bfloat162
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
#define CONVERSIONS_ 1
#endif
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define OPERATORS_OF_NUMBERS_ 1
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#define OPERATORS_OF_PAIRS_ 1
#endif
#include "sixteen_bit_numbers.h"

#if !defined(__CUDA_NO_HALF_CONVERSIONS__)
inline __half::__half(__nv_bfloat16 x) : __half(__bfloat162float(x)) {}
#endif
#if !defined(__CUDA_NO_BFLOAT16_CONVERSIONS__)
inline __nv_bfloat16::__nv_bfloat16(__half x) : __nv_bfloat16(__half2float(x)) {}
#endif

#if !defined(CUDA_NO_BFLOAT16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
#endif

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
