// What is only declared: types of CUDA's host library, as far as a source has variables and parameters of
// them, since its calls are left out before the emulator compiles it,
#pragma once

enum cudaError { cudaSuccess };
typedef cudaError cudaError_t;
struct cudaDeviceProp {};
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct cudaArray* cudaArray_t;

// and textures and surfaces, so that a file may have kernels that read some. Nothing defines these
// functions: a kernel that calls one is refused when it is linked.
typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

#define EMULATOR_TEXTURE(name) \
    template <class T, class... Where> T name(cudaTextureObject_t, Where...);
EMULATOR_TEXTURE(tex1D) EMULATOR_TEXTURE(tex1Dfetch) EMULATOR_TEXTURE(tex1DLod) EMULATOR_TEXTURE(tex1DGrad)
EMULATOR_TEXTURE(tex1DLayered) EMULATOR_TEXTURE(tex2D) EMULATOR_TEXTURE(tex2DLod) EMULATOR_TEXTURE(tex2DGrad)
EMULATOR_TEXTURE(tex2DLayered) EMULATOR_TEXTURE(tex2Dgather) EMULATOR_TEXTURE(tex3D) EMULATOR_TEXTURE(tex3DLod)
EMULATOR_TEXTURE(tex3DGrad) EMULATOR_TEXTURE(texCubemap) EMULATOR_TEXTURE(texCubemapLod)
EMULATOR_TEXTURE(texCubemapLayered)
EMULATOR_TEXTURE(surf1Dread) EMULATOR_TEXTURE(surf2Dread) EMULATOR_TEXTURE(surf3Dread)
#define EMULATOR_SURFACE(name) \
    template <class T, class... Where> void name(T, cudaSurfaceObject_t, Where...);
EMULATOR_SURFACE(surf1Dwrite) EMULATOR_SURFACE(surf2Dwrite) EMULATOR_SURFACE(surf3Dwrite)
