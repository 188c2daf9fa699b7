// Threads that go from step to step together.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "widemargin/problem.hpp"

namespace widemargin {

class Team {
   public:
    explicit Team(std::size_t threads) : seats_(threads) {}

    // Waits until all have come to step n, counted from 1.
    void meet(std::size_t me, std::size_t n) {
        seats_[me].step.store(n, std::memory_order_release);
        for (Seat& seat : seats_) {
            for (int looks = 0; seat.step.load(std::memory_order_acquire) < n; ++looks) {
                if (looks > kPatience) std::this_thread::yield();  // it may have lost its CPU
            }
        }
    }

   private:
    static constexpr int kPatience = 2000;
    struct alignas(kLine) Seat {  // a cache line each: nobody waits for a neighbour's writes
        std::atomic<std::size_t> step{0};
    };
    std::vector<Seat> seats_;
};

// Calls work(me, threads) in so many threads, or as many as there are; work must not throw.
template <class Work>
void in_threads([[maybe_unused]] int threads, Work&& work) {
#ifdef _OPENMP
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        work(static_cast<std::size_t>(omp_get_thread_num()),
             static_cast<std::size_t>(omp_get_num_threads()));
        return;
    }
#endif
    work(std::size_t{0}, std::size_t{1});
}

}  // namespace widemargin
