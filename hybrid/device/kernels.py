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

_PRODUCT = """
// {told}
// A product of two matrices that are never written down: a block computes 64 rows (blockIdx.y) by 64 columns (blockIdx.x) of a
// group's (blockIdx.z, with the slice of the depth that it adds up), a thread 4 by 4 of these.
extern "C" __global__ void {name}(const float* {left}, const float* {right}, {more},
    int batch, int channels, int height, int width, int filters, int rows, int columns, int kh, int kw,
    int sh, int sw, int dh, int dw, int ph, int pw, int groups)
{{
    __shared__ float left_tile[16][65];
    __shared__ float right_tile[16][65];
    const int each = channels / groups, mine = filters / groups, taps = kh * kw;
    const long long pixels = (long long)rows * columns, area = (long long)height * width;
    {sizes}
    const int group = blockIdx.z / slices, slice = blockIdx.z % slices, own = threadIdx.x;
    const int first = slice * length, last = depth < first + length ? depth : first + length;
    const long long first_row = (long long)blockIdx.y * 64, first_column = (long long)blockIdx.x * 64;
    const int across = own % 16, down = own / 16;
    float sum[4][4];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] = 0.0f;
    for (int begin = first; begin < last; begin += 16) {{
        for (int part = 0; part < 4; ++part) {{
            const int place = own + part * 256, deep = place / 64, wide = place % 64, k = begin + deep;
            const long long row = first_row + wide, column = first_column + wide;
            float l = 0.0f, r = 0.0f;
            if (k < last) {{
                if (row < high) {{
                    {of_left}
                }}
                if (column < broad) {{
                    {of_right}
                }}
            }}
            left_tile[deep][wide] = l;
            right_tile[deep][wide] = r;
        }}
        __syncthreads();
        for (int deep = 0; deep < 16; ++deep)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] = fmaf(left_tile[deep][down + 16 * i], right_tile[deep][across + 16 * j], sum[i][j]);
        __syncthreads();
    }}
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {{
            const long long row = first_row + down + 16 * i, column = first_column + across + 16 * j;
            if (row < high && column < broad) {{
                {store}
            }}
        }}
}}
"""

CONVOLUTION = _PRODUCT.format(
    told="y (N, F, R, S) of x (N, C, H, W) and weight (F, C/groups, kh, kw): filters by pixels, deep as a window.",
    name="convolution",
    left="weight",
    right="x",
    more="const float* bias, float* y, int has_bias",
    sizes="""const int depth = each * taps, slices = 1, length = depth;
    const long long high = mine, broad = pixels * batch;""",
    of_left="l = weight[(group * mine + row) * depth + k];",
    of_right="""const int image = (int)(column / pixels), step = (int)(column % pixels);
                    const int channel = group * each + k / taps, tap = k % taps;
                    const int h = step / columns * sh - ph + tap / kw * dh;
                    const int u = step % columns * sw - pw + tap % kw * dw;
                    if (h >= 0 && h < height && u >= 0 && u < width)
                        r = x[((long long)image * channels + channel) * area + (long long)h * width + u];""",
    store="""const long long filter = group * mine + row;
                const float found = has_bias ? sum[i][j] + bias[filter] : sum[i][j];
                y[(column / pixels * filters + filter) * pixels + column % pixels] = found;""",
)

CONVOLUTION_DATA = _PRODUCT.format(
    told="Gradient of a convolution by x: of weight and dy, channels by pixels of x, deep as the windows that a pixel is in.",
    name="convolution_data",
    left="weight",
    right="dy",
    more="float* dx",
    sizes="""const int depth = mine * taps, slices = 1, length = depth;
    const long long high = each, broad = area * batch;""",
    of_left="l = weight[((long long)(group * mine + k / taps) * each + row) * taps + k % taps];",
    of_right="""const int image = (int)(column / area), step = (int)(column % area), tap = k % taps;
                    const int h = step / width + ph - tap / kw * dh, u = step % width + pw - tap % kw * dw;
                    if (h >= 0 && u >= 0 && h % sh == 0 && u % sw == 0 && h / sh < rows && u / sw < columns)
                        r = dy[((long long)image * filters + group * mine + k / taps) * pixels
                            + (long long)(h / sh) * columns + u / sw];""",
    store="dx[(column / area * channels + group * each + row) * area + column % area] = sum[i][j];",
)

CONVOLUTION_WEIGHT = _PRODUCT.format(
    told="Gradient of a convolution by weight: of dy and x, filters by taps, deep as all pixels, a part of them for each slice.",
    name="convolution_weight",
    left="dy",
    right="x",
    more="float* parts, int slices, int length",
    sizes="""const int depth = (int)(pixels * batch);
    const long long high = mine, broad = each * taps;""",
    of_left="l = dy[(k / pixels * filters + group * mine + row) * pixels + k % pixels];",
    of_right="""const int step = (int)(k % pixels), tap = (int)(column % taps);
                    const int h = step / columns * sh - ph + tap / kw * dh;
                    const int u = step % columns * sw - pw + tap % kw * dw;
                    if (h >= 0 && h < height && u >= 0 && u < width)
                        r = x[(k / pixels * channels + group * each + column / taps) * area + (long long)h * width + u];""",
    store="parts[((long long)slice * filters + group * mine + row) * broad + column] = sum[i][j];",
)

POOLING = """
// y (planes, rows, columns) of x (planes, height, width), one thread an element of y. kind: 0 the largest, NaN left out; 1 the
// mean; 2 the sum. include: a mean counts padding.
extern "C" __global__ void pooling(const float* x, float* y, long long count, int kind, int include, int height, int width,
    int rows, int columns, int kh, int kw, int sh, int sw, int ph, int pw)
{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const int step = (int)(i % ((long long)rows * columns));
    const int top = step / columns * sh - ph, left = step % columns * sw - pw;
    const int down = top + kh < height + ph ? top + kh : height + ph, right = left + kw < width + pw ? left + kw : width + pw;
    const int h0 = top > 0 ? top : 0, h1 = down < height ? down : height;
    const int u0 = left > 0 ? left : 0, u1 = right < width ? right : width;
    const float* plane = x + i / ((long long)rows * columns) * height * width;
    float found = kind == 0 ? -3.4028234663852886e38f : 0.0f;
    for (int h = h0; h < h1; ++h)
        for (int u = u0; u < u1; ++u) {
            const float value = plane[(long long)h * width + u];
            if (kind != 0) found += value;
            else if (value > found) found = value;
        }
    if (kind == 1) {
        const int high = include ? down - top : h1 - h0, broad = include ? right - left : u1 - u0;
        found /= (float)((high > 1 ? high : 1) * (broad > 1 ? broad : 1));
    }
    y[i] = found;
}
"""

POOLING_DATA = """
// Gradient of pooling by x, one thread an element of x, which looks at all windows that it is in. Of equal largest elements of a
// window the first gets what the window got; padding is the least number.
extern "C" __global__ void pooling_data(const float* dy, const float* x, const float* y, float* dx, long long count, int kind,
    int include, int height, int width, int rows, int columns, int kh, int kw, int sh, int sw, int ph, int pw)
{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const long long plane = i / ((long long)height * width), steps = (long long)rows * columns;
    const int own = (int)(i % ((long long)height * width)), h = own / width, u = own % width;
    const float* data = x + plane * height * width;
    float sum = 0.0f;
    for (int r = h + ph - kh < 0 ? 0 : (h + ph - kh) / sh + 1; r < rows && r * sh <= h + ph; ++r)
        for (int s = u + pw - kw < 0 ? 0 : (u + pw - kw) / sw + 1; s < columns && s * sw <= u + pw; ++s) {
            const int top = r * sh - ph, left = s * sw - pw;
            const long long window = plane * steps + (long long)r * columns + s;
            if (kind == 0) {
                int tap = 0;
                for (; tap < kh * kw; ++tap) {
                    const int a = top + tap / kw, b = left + tap % kw;
                    const bool inside = a >= 0 && a < height && b >= 0 && b < width;
                    if ((inside ? data[(long long)a * width + b] : -3.4028234663852886e38f) == y[window]) break;
                }
                if (tap < kh * kw && top + tap / kw == h && left + tap % kw == u) sum += dy[window];
            } else {
                const int down = top + kh < height + ph ? top + kh : height + ph;
                const int right = left + kw < width + pw ? left + kw : width + pw;
                const int high = include ? down - top : (down < height ? down : height) - (top > 0 ? top : 0);
                const int broad = include ? right - left : (right < width ? right : width) - (left > 0 ? left : 0);
                sum += kind == 2 ? dy[window] : dy[window] / (float)((high > 1 ? high : 1) * (broad > 1 ? broad : 1));
            }
        }
    dx[i] = sum;
}
"""

NORMALIZATION = """
// One block a row: y = (x - mean) / std * gamma + beta with std = sqrt(mean of (x - mean) squared + eps), mean and std kept; or,
// where rms is 1, y = x / sqrt(mean of x squared + eps) * gamma.
extern "C" __global__ void normalization(const float* x, const float* gamma, const float* beta, float* y, float* means,
    float* roots, int columns, float eps, int rms)
{
    __shared__ float shared[256];
    const float* row = x + (long long)blockIdx.x * columns;
    float* out = y + (long long)blockIdx.x * columns;
    const int own = threadIdx.x;
    float mean = 0.0f, sum = 0.0f;
    for (int pass = rms; pass < 2; ++pass) {
        sum = 0.0f;
        for (int i = own; i < columns; i += 256)
            sum += pass ? (row[i] - mean) * (row[i] - mean) : row[i];
        shared[own] = sum;
        __syncthreads();
        for (int half = 128; half > 0; half /= 2) {
            if (own < half) shared[own] += shared[own + half];
            __syncthreads();
        }
        sum = shared[0] / (float)columns;
        __syncthreads();
        if (!pass) mean = sum;
    }
    const float root = sqrtf(sum + eps);
    if (!rms && own == 0) {
        means[blockIdx.x] = mean;
        roots[blockIdx.x] = root;
    }
    for (int i = own; i < columns; i += 256)
        out[i] = rms ? row[i] / root * gamma[i] : (row[i] - mean) / root * gamma[i] + beta[i];
}
"""

QUERIES = 16
"""Queries that a block of ATTENTION answers."""
FEATURES = 128
"""Numbers that a head of a query, a key or a value may have there at most."""

ATTENTION = """
// softmax(softcap(scale Q K') + masks) V: a block answers 16 queries (blockIdx.x) of a head (blockIdx.y) of an element of the batch
// (blockIdx.z), 16 threads each, and goes over 64 keys at a time: what was added up for the keys so far is scaled whenever a
// larger score is met. Places are given by strides of batch, head, place and feature. blind: what a query gets that sees no
// key: 0 NaN, 1 zeros, 2 zeros as well where it sees NaN.
extern "C" __global__ void attention(const float* query, const float* key, const float* value, const bool* keep,
    const float* added, float* result, long long query_at, long long key_at, long long value_at,
    long long qb, long long qh, long long qs, long long qd, long long kb, long long kh, long long ks, long long kd,
    long long vb, long long vh, long long vs, long long vd, long long rb, long long rh, long long rs, long long rd,
    long long mb, long long mh, long long ms, long long mt, long long ab, long long ah, long long as, long long at,
    int share, int queries, int keys, int size, int value_size, float scale, float softcap, int has_keep, float fill,
    int has_added, int before, int after, int offset, int blind, float infinity)
{
    __shared__ float asked[16][129];
    __shared__ float tile[64][129];
    __shared__ float scores[16][65];
    const int own = threadIdx.x, row = own / 16, lane = own % 16, h = blockIdx.y, b = blockIdx.z;
    const int first = blockIdx.x * 16, q = first + row;
    for (int i = own; i < 16 * size; i += 256) {
        const int r = i / size, d = i % size;
        asked[r][d] = first + r < queries ? query[query_at + b * qb + h * qh + (first + r) * qs + d * qd] : 0.0f;
    }
    float top = -infinity, sum = 0.0f, found[8], nothing[8];
    for (int j = 0; j < 8; ++j) found[j] = nothing[j] = 0.0f;
    for (int begin = 0; begin < keys; begin += 64) {
        const int count = keys - begin < 64 ? keys - begin : 64;
        __syncthreads();
        for (int i = own; i < count * size; i += 256)
            tile[i / size][i % size] = key[key_at + b * kb + h / share * kh + (begin + i / size) * ks + i % size * kd];
        __syncthreads();
        for (int t = lane; t < count && q < queries; t += 16) {
            const int k = begin + t, place = q + offset;
            float score = 0.0f;
            for (int d = 0; d < size; ++d) score = fmaf(asked[row][d], tile[t][d], score);
            score *= scale;
            if (softcap != 0.0f) score = softcap * tanhf(score / softcap);
            if (has_keep && !keep[b * mb + h * mh + q * ms + k * mt]) score = fill;
            if (has_added) score += added[b * ab + h * ah + q * as + k * at];
            if ((before >= 0 && place - k > before) || (after >= 0 && k - place > after)) score = -infinity;
            scores[row][t] = score;
        }
        __syncthreads();
        for (int i = own; i < count * value_size; i += 256)
            tile[i / value_size][i % value_size] =
                value[value_at + b * vb + h / share * vh + (begin + i / value_size) * vs + i % value_size * vd];
        __syncthreads();
        if (q < queries) {
            float most = top;
            for (int t = 0; t < count; ++t)
                if (scores[row][t] > most) most = scores[row][t];
            const float left = most == -infinity ? 1.0f : expf(top - most);
            sum *= left;
            for (int j = 0; j < 8; ++j) found[j] *= left;
            for (int t = 0; t < count; ++t) {
                const float score = scores[row][t];
                const float part = most != -infinity ? expf(score - most) : score != score ? score : 0.0f;
                sum += part;
                for (int j = 0; lane + 16 * j < value_size; ++j) {
                    found[j] = fmaf(part, tile[t][lane + 16 * j], found[j]);
                    if (blind) nothing[j] += 0.0f * tile[t][lane + 16 * j];
                }
            }
            top = most;
        }
    }
    const bool none = (blind && sum == 0.0f) || (blind == 2 && sum != sum);
    for (int j = 0; q < queries && lane + 16 * j < value_size; ++j)
        result[b * rb + h * rh + q * rs + (lane + 16 * j) * rd] = none ? nothing[j] : found[j] / sum;
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
