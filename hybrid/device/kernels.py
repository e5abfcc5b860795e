"""Kernels of our own, in CUDA C++, compiled by NVRTC when they are first used. float32, contiguous.

They include nothing, so that tests compile the same text as C++ and run it thread by thread (tests/device/emulation.py)."""

from __future__ import annotations

THREADS = 256
"""Threads of a block of all of these."""
TILE = 64
"""Filters, and pixels, that a block of CONVOLUTION computes."""

SOFTMAX = """
// One block a row: y = exp(x - max) / sum, or x - max - log(sum) where logarithm is 1.
extern "C" __global__ void softmax(const float* x, float* y, int columns, int logarithm)
{
    __shared__ float shared[256];
    const float* row = x + (long long)blockIdx.x * columns;
    float* out = y + (long long)blockIdx.x * columns;
    const int own = threadIdx.x;
    float most = row[0];
    for (int i = own; i < columns; i += 256)
        most = (row[i] > most || row[i] != row[i]) ? row[i] : most;
    shared[own] = most;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (own < half) {
            float other = shared[own + half];
            if (other > shared[own] || other != other) shared[own] = other;
        }
        __syncthreads();
    }
    most = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = own; i < columns; i += 256)
        sum += expf(row[i] - most);
    shared[own] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (own < half) shared[own] += shared[own + half];
        __syncthreads();
    }
    sum = shared[0];
    const float log_sum = logf(sum);
    for (int i = own; i < columns; i += 256)
        out[i] = logarithm ? row[i] - most - log_sum : expf(row[i] - most) / sum;
}
"""

CONVOLUTION = """
// y (N, F, R, S) of x (N, C, H, W) and weight (F, C/groups, kh, kw), as a product of weight with windows that are never
// written down: a block computes 64 filters (blockIdx.y) of a group (blockIdx.z) at 64 pixels (blockIdx.x) of all images; a
// thread 4 by 4 of these.
extern "C" __global__ void convolution(const float* x, const float* weight, const float* bias, float* y,
    int has_bias, int batch, int channels, int height, int width, int filters, int rows, int columns, int kh, int kw,
    int sh, int sw, int dh, int dw, int ph, int pw, int groups)
{
    __shared__ float w_tile[16][65];
    __shared__ float x_tile[16][65];
    const int each = channels / groups, mine = filters / groups, taps = kh * kw, depth = each * taps;
    const long long pixels = (long long)rows * columns, total = pixels * batch;
    const int group = blockIdx.z, first_filter = blockIdx.y * 64, own = threadIdx.x;
    const long long first_pixel = (long long)blockIdx.x * 64;
    const int across = own % 16, down = own / 16;
    float sum[4][4];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
    for (int begin = 0; begin < depth; begin += 16) {
        for (int part = 0; part < 4; ++part) {
            const int place = own + part * 256, deep = place / 64, wide = place % 64, k = begin + deep;
            float w = 0.0f, v = 0.0f;
            if (k < depth) {
                if (first_filter + wide < mine)
                    w = weight[(long long)(group * mine + first_filter + wide) * depth + k];
                const long long pixel = first_pixel + wide;
                if (pixel < total) {
                    const int image = (int)(pixel / pixels), step = (int)(pixel % pixels);
                    const int channel = group * each + k / taps, tap = k % taps;
                    const int h = step / columns * sh - ph + tap / kw * dh;
                    const int u = step % columns * sw - pw + tap % kw * dw;
                    if (h >= 0 && h < height && u >= 0 && u < width)
                        v = x[(((long long)image * channels + channel) * height + h) * width + u];
                }
            }
            w_tile[deep][wide] = w;
            x_tile[deep][wide] = v;
        }
        __syncthreads();
        for (int deep = 0; deep < 16; ++deep)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] = fmaf(w_tile[deep][down + 16 * i], x_tile[deep][across + 16 * j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            const int filter = first_filter + down + 16 * i;
            const long long pixel = first_pixel + across + 16 * j;
            if (filter < mine && pixel < total) {
                const int whole = group * mine + filter;
                const long long place = (pixel / pixels * filters + whole) * pixels + pixel % pixels;
                y[place] = has_bias ? sum[i][j] + bias[whole] : sum[i][j];
            }
        }
}
"""

CHAIN = """
// A chain of element-wise operators: one thread an element of the result.
extern "C" __global__ void chain({parameters})
{{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
{lines}
}}
"""
