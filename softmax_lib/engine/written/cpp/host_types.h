// Types of CUDA's host library, as far as a source has variables and parameters of them: its calls are
// left out before the emulator compiles it.
#pragma once

enum cudaError { cudaSuccess };
typedef cudaError cudaError_t;
struct cudaDeviceProp {};
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct cudaArray* cudaArray_t;
