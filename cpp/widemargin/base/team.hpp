// A team of threads that work on one batch after another and wait for each other in between.
#pragma once

#include <atomic>
#include <optional>
#include <thread>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "widemargin/base/parallel.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// Thrown out of Barrier::wait() when another thread of the team has failed.
struct TeamBroken {};

// A batch takes a fraction of a millisecond, so a waiting thread spins; after a while it yields.
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
            if (broken_.load(std::memory_order_relaxed)) throw TeamBroken();
            if (spins > kSpins) {
                std::this_thread::yield();
            } else {
                relax();
            }
        }
    }

    // Called by a thread that will not arrive any more: nobody waits for it in vain.
    void abandon() { broken_.store(true, std::memory_order_relaxed); }

   private:
    // Leaves the core to its other hardware thread, if it has one.
    static void relax() {
#if defined(__SSE2__)
        __builtin_ia32_pause();
#endif
    }

    static constexpr int kSpins = 2000;  // about ten microseconds
    const int parties_;
    std::atomic<int> arrived_{0};
    std::atomic<unsigned> round_{0};
    std::atomic<bool> broken_{false};
};

// Makes this thread treat denormal numbers as 0: the moments of dead units decay into them, and
// some CPUs compute with them a hundred times slower.
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

// Calls work(me, team, barrier) in `wanted` threads, or in fewer if the system has fewer. Throws
// the first exception that leaves a call.
template <class Work>
void with_team([[maybe_unused]] int wanted, Work&& work) {
#ifdef _OPENMP
    if (wanted > 1) {
        std::optional<Barrier> barrier;
        FirstException failure;
#pragma omp parallel num_threads(wanted)
        {
#pragma omp single
            barrier.emplace(omp_get_num_threads());
            const FlushToZero flush;
            const bool done =
                failure.run([&] { work(omp_get_thread_num(), omp_get_num_threads(), *barrier); });
            if (!done) barrier->abandon();
        }
        failure.rethrow();
        return;
    }
#endif
    Barrier alone(1);
    const FlushToZero flush;
    work(0, 1, alone);
}

}  // namespace widemargin::WIDEMARGIN_ISA
