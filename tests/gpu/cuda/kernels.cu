// Kernels of our own, a feature or two each: tests/gpu/test_nvcc.py has them compiled for each
// architecture. What an architecture lacks is left out of its kernel.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

extern "C" {

__global__ void saxpy(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void tiled(const float *a, const float *b, float *c) {
  __shared__ float s[16][16], t[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < 8; k++) {
    s[y][x] = a[(blockIdx.y * 16 + y) * 128 + k * 16 + x];
    t[y][x] = b[(k * 16 + y) * 128 + blockIdx.x * 16 + x];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += s[y][i] * t[i][x];
    __syncthreads();
  }
  c[(blockIdx.y * 16 + y) * 128 + blockIdx.x * 16 + x] = sum;
}

__global__ void nested(const int *x, int *y) {
  int sum = 0;
#pragma unroll 1
  for (int i = 100; i > 0; i -= 3)
#pragma unroll 1
    for (unsigned k = 0; k < 37; k++) sum = sum * 5 + x[i + k];
  y[threadIdx.x] = sum;
}

__global__ void as_told(const int *x, int *y, int n) {
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) sum += x[i];
  y[threadIdx.x] = sum;
}

__global__ void warps(const int *x, int *y, int n) {
  int v = x[threadIdx.x];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (!(threadIdx.x & 31)) atomicAdd(y, v);
  y[threadIdx.x + 1] = v / n + __popc(__ballot_sync(~0u, v > 3)) + __ffs(v) + __clz(v) + __brev(v);
#if __CUDA_ARCH__ >= 800
  y[threadIdx.x + 2] = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v);
#endif
}

__global__ void doubles(const double *x, double *y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = sqrt(x[i]) * exp(x[i + 1]) / y[i];
}

__global__ void floats(float *x) {
  int i = threadIdx.x;
  x[i] = sinf(x[i]) + expf(x[i + 1]) * logf(x[i + 2]) + sqrtf(x[i + 3]) / x[i + 4] +
         fmaxf(x[i], fmaxf(x[i + 5], x[i + 6]));
}

__global__ void integers(long long *x, int *y, unsigned *u) {
  int i = threadIdx.x;
  x[i] = x[i] * x[i + 1] + (x[i] >> 3) / (x[i + 2] | 1);
  y[i] = max(max(y[i], y[i + 1]), y[i + 2]) + abs(y[i + 3]) + __dp4a(y[i], y[i + 4], y[i + 5]);
  u[i] = __umulhi(u[i], u[i + 1]) + __funnelshift_l(u[i], u[i + 1], 5) + __vabsdiffu4(u[i], u[i + 2]);
}

__global__ void halves(const __half2 *x, __half2 *y) {
  int i = threadIdx.x;
  y[i] = __hfma2(x[i], y[i], __hadd2(x[i], y[i]));
}

__global__ void product(const half *a, const half *b, float *c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  load_matrix_sync(fa, a, 16);
  load_matrix_sync(fb, b, 16);
  mma_sync(fc, fa, fb, fc);
  store_matrix_sync(c, fc, 16, mem_row_major);
}

__global__ void copied(const float4 *x, float4 *y) {
  __shared__ float4 s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  y[threadIdx.x] = s[255 - threadIdx.x];
}

__global__ void atomics(int *x, float *f, unsigned long long *l) {
  __shared__ int s[3];
  atomicCAS(x + 1, 3, 4);
  atomicAdd(f, 2.f);
  atomicExch(l, 7);
  __threadfence();
  atomicAdd(&s[threadIdx.x % 3], 1);
  __syncthreads();
  x[4] = s[1];
}

__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__global__ void recursive(int *y) { y[threadIdx.x] = factorial(threadIdx.x); }

__global__ void cases(int *y) {
  int i = threadIdx.x, v = y[i];
  switch (v) {
    case 0: y[i] = 3; break;
    case 1: y[i + 1] = v * 7; break;
    case 2: y[i] = y[i + 5] / 3; break;
    case 3: y[i + 2] ^= 9; break;
    case 4: y[i] += y[i + 9]; break;
    case 5: y[2 * i] = 1; break;
    case 6: y[3 * i] = y[i] * y[i]; break;
    default: y[i] = -1;
  }
}

__global__ void texture(cudaTextureObject_t t, float *y) {
  y[threadIdx.x] = tex2D<float>(t, threadIdx.x, 2.f);
}

__global__ void local(int *y, int n) {
  int a[64];
  for (int i = 0; i < n; i++) a[(i * 7 + y[i]) & 63] = y[i];
  y[threadIdx.x] = a[threadIdx.x & 63];
}

__global__ void clocks(long long *y) {
  long long began = clock64();
  y[threadIdx.x] = began;
  y[threadIdx.x + 32] = clock64() - began;
}

__global__ void some(int *y) {
  asm volatile("bar.sync 1, 64;");
  y[threadIdx.x] = __syncthreads_count(y[3]);
}

__global__ void pairs(float2 *x) {
  float2 s = x[threadIdx.x];
#if __CUDA_ARCH__ >= 1000
  asm volatile("{.reg .b64 a, b; mov.b64 a, {%0, %1}; fma.rn.f32x2 b, a, a, a; add.rn.f32x2 b, b, a;"
               " mov.b64 {%0, %1}, b;}" : "+f"(s.x), "+f"(s.y));
#endif
  x[threadIdx.x] = s;
}

__global__ void cluster(int *y) {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
#endif
  y[threadIdx.x] = 1;
}

__global__ void tensor_memory(unsigned *y) {
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
  __shared__ unsigned s;
  unsigned at = __cvta_generic_to_shared(&s), low, high;
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(at));
  asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "r"(s));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(s));
  y[threadIdx.x] = low + high;
#endif
}
}
