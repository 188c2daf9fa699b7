// Exceptions in parallel regions.
//
// OpenMP ends the process when an exception leaves a parallel region, and any allocation may throw.
// So a body that may throw runs inside FirstException::run, and the thread that opened the region
// calls rethrow() behind it:
//
//   FirstException failure;
//   #pragma omp parallel for
//   for (...) failure.run([&] { ... });
//   failure.rethrow();
#pragma once

#include <atomic>
#include <exception>

namespace widemargin {

class FirstException {
   public:
    FirstException();
    ~FirstException();
    FirstException(const FirstException&) = delete;
    FirstException& operator=(const FirstException&) = delete;

    // Calls body() and keeps what it throws, unless something was thrown before. False if it threw.
    template <class Body>
    bool run(Body&& body) noexcept {
        try {
            body();
            return true;
        } catch (...) {
            keep();
            return false;
        }
    }

    // Throws what was kept, if anything was. To be called outside of the region.
    void rethrow() const;

   private:
    void keep() noexcept;

    std::atomic_flag taken_;
    std::exception_ptr exception_;
};

}  // namespace widemargin
