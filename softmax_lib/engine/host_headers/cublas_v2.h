// Types of a library of the host, whose calls are left out before the emulator compiles; as the
// library's own header does, it brings the 16-bit floats along.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef struct cublasContext* cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasComputeType_t { CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
