// Threads that work on one batch after the other and wait for each other in between.
#pragma once

#include <atomic>
#include <thread>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace widemargin::WIDEMARGIN_ISA {

// A batch takes a fraction of a millisecond: those who wait spin, and let others run after a while.
class Barrier {
   public:
    explicit Barrier(int parties) : parties_(parties) {}

    void wait() {
        const unsigned now = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(now + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == now; ++spins) {
            if (spins > kSpins) {
                std::this_thread::yield();
            } else {
                relax();
            }
        }
    }

   private:
    // Leaves the core to its other thread, where it has one.
    static void relax() {
#if defined(__SSE2__)
        __builtin_ia32_pause();
#endif
    }

    static constexpr int kSpins = 2000;  // some ten microseconds
    const int parties_;
    std::atomic<int> arrived_{0};
    std::atomic<unsigned> round_{0};
};

// Numbers too small to be normal count as 0 in this thread: moments of dead units decay into them,
// and some CPUs compute with them a hundred times slower.
class FlushToZero {
   public:
#if defined(__SSE2__)
    FlushToZero() : before_(__builtin_ia32_stmxcsr()) { __builtin_ia32_ldmxcsr(before_ | 0x8040); }
    ~FlushToZero() { __builtin_ia32_ldmxcsr(before_); }

   private:
    unsigned before_;
#else
    FlushToZero() {}
#endif
};

// Calls work(me, team, barrier) in `wanted` threads, or in fewer if there are not so many.
template <class Work>
void with_team([[maybe_unused]] int wanted, Work&& work) {
#ifdef _OPENMP
    if (wanted > 1) {
        alignas(Barrier) unsigned char place[sizeof(Barrier)];
        Barrier* barrier = nullptr;
#pragma omp parallel num_threads(wanted)
        {
#pragma omp single
            barrier = new (place) Barrier(omp_get_num_threads());
            const FlushToZero flush;
            work(omp_get_thread_num(), omp_get_num_threads(), *barrier);
        }
        return;
    }
#endif
    Barrier alone(1);
    const FlushToZero flush;
    work(0, 1, alone);
}

}  // namespace widemargin::WIDEMARGIN_ISA
