// CUDA C++ as C++: what kernels of hybrid/device/kernels.py use. Threads of a block are threads; blocks come one after the other.
#include <barrier>
#include <cmath>
#include <thread>
#include <vector>

struct Index { unsigned x = 0, y = 0, z = 0; };
static thread_local Index threadIdx, blockIdx;
static std::barrier<>* block_barrier = nullptr;

#define __global__
#define __shared__ static
static void __syncthreads() { block_barrier->arrive_and_wait(); }

template <class Kernel>
static void launch(unsigned gx, unsigned gy, unsigned gz, unsigned threads, Kernel kernel)
{
    std::barrier<> barrier(threads);
    block_barrier = &barrier;
    auto work = [&](unsigned own) {
        threadIdx.x = own;
        for (blockIdx.z = 0; blockIdx.z < gz; ++blockIdx.z)
            for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
                for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x) {
                    barrier.arrive_and_wait();
                    kernel();
                    barrier.arrive_and_wait();
                }
    };
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i) running.emplace_back(work, i);
    for (auto& one : running) one.join();
}
