// float4: what 07_float4 taught, for the kernels after it.

// How many floats lie before the next 16-byte boundary.
__device__ inline int floats_to_boundary(const float* address) {
    return (4 - (int)((unsigned long long)address / 4 % 4)) % 4;
}

__device__ inline float4 load4(const float* address) {
    return *reinterpret_cast<const float4*>(address);
}

__device__ inline void store4(float* address, float4 v) { *reinterpret_cast<float4*>(address) = v; }

__device__ inline float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

__device__ inline float sum4(float4 v) { return (v.x + v.y) + (v.z + v.w); }

__device__ inline float4 exp4(float4 v, float shift) {
    return make_float4(expf(v.x - shift), expf(v.y - shift), expf(v.z - shift), expf(v.w - shift));
}

__device__ inline float4 scale4(float4 v, float scale) {
    return make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
}
