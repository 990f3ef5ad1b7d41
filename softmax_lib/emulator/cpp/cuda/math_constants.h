// The constants of CUDA's header of this name that row-wise kernels use.
#pragma once
#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f
#define CUDART_L2E_F 1.442695041f
#define CUDART_LN2_F 0.693147181f
