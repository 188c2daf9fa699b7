// Gradients of expansions f(x) = sum_i coef_i k(x_i, x), in double. With s = ||x - x_i||^2:
//   rbf           -2 gamma sum_i coef_i k_i (x - x_i)
//   exponential   -gamma q sum_i coef_i k_i s^(q/2 - 1) (x - x_i)
//   laplacian     -gamma q sum_i coef_i k_i ||x - x_i||_1^(q - 1) sign(x - x_i)
//   poly          gamma p sum_i coef_i (gamma x.x_i + r)^(p - 1) x_i
//   sigmoid       gamma sum_i coef_i (1 - k_i^2) x_i
// Where x = x_i a distance has no derivative: that term is 0.
#pragma once

#include "widemargin/base/parallel.hpp"
#include "widemargin/base/vector.hpp"
#include "widemargin/kernel/kernel_function.hpp"

namespace widemargin::WIDEMARGIN_ISA {

// The factor of the direction in the equations above, without coef_i.
template <KernelName name>
[[gnu::always_inline]] inline Real<double> slope(Real<double> sum, const KernelFunction& kernel) {
    const double gamma = kernel.gamma, q = kernel.exponent;
    if constexpr (name == KernelName::linear) {
        return all<double>(1.0);
    } else if constexpr (name == KernelName::poly) {
        if (kernel.degree == 0) return Real<double>{};
        return gamma * kernel.degree * power<double>(sum * gamma + kernel.coef0, kernel.degree - 1);
    } else {
        const Real<double> k = finish<double, name>(sum, kernel);
        if constexpr (name == KernelName::sigmoid) return gamma * (1.0 - k * k);
        if constexpr (name == KernelName::rbf) return -2.0 * gamma * k;
        if constexpr (name == KernelName::laplacian) return -gamma * k;
        constexpr bool squared = pairing_of(name) == Pairing::squared_distance;
        const double h = squared ? 0.5 * q : q;  // sum^h is d^q
        const Real<double> safe = larger<double>(sum, all<double>(Vectors<double>::normal));
        const Real<double> value = -gamma * q * k * power_or_roots<double>(safe, h) / safe;
        return sum > Real<double>{} ? value : Real<double>{};
    }
}

// x.x_i or a distance, of one row and the points of some registers.
template <Pairing pairing>
[[gnu::always_inline]] inline Real<double> paired(const double* row, const double* points,
                                                  std::size_t width, std::size_t stride) {
    Real<double> sum{};
    for (std::size_t j = 0; j < width; ++j) {
        const Real<double> x = load_lanes(points + j * stride), difference = x - row[j];
        if constexpr (pairing == Pairing::product) sum += x * row[j];
        if constexpr (pairing == Pairing::squared_distance) sum += difference * difference;
        if constexpr (pairing == Pairing::absolute_distance) sum += absolute<double>(difference);
    }
    return sum;
}

// gradient += weight * direction
template <Pairing pairing>
[[gnu::always_inline]] inline void add_direction(const double* row, const double* points,
                                                 std::size_t width, std::size_t stride,
                                                 Real<double> weight, double* gradient) {
    for (std::size_t j = 0; j < width; ++j) {
        const Real<double> difference = load_lanes(points + j * stride) - row[j];
        Real<double> step = weight * difference;
        if constexpr (pairing == Pairing::product) step = weight * row[j];
        if constexpr (pairing == Pairing::absolute_distance) {
            const Real<double> zero{};
            step = difference > zero ? weight : (difference < zero ? -weight : zero);
        }
        store_lanes(gradient + j * stride, load_lanes(gradient + j * stride) + step);
    }
}

// The gradients at the points first, first + 1, ... of one block; copies of the first fill it up.
template <KernelName name>
void block_gradients(const KernelFunction& kernel, const GradientTask& task, std::size_t first) {
    constexpr Pairing pairing = pairing_of(name);
    constexpr std::size_t n = kLanes<double>;
    const std::size_t width = task.width, valid = task.m - first < kBlock ? task.m - first : kBlock;
    const AlignedVector points(width * kBlock), gradients(task.outputs * width * kBlock);
    for (std::size_t e = 0; e < kBlock; ++e) {
        const double* x = task.points + (first + (e < valid ? e : 0)) * width;
        for (std::size_t j = 0; j < width; ++j) points.data()[j * kBlock + e] = x[j];
    }
    for (std::size_t i = 0; i < task.count; ++i) {
        const double* row = task.rows + i * width;
        for (std::size_t p = 0; p < kBlock; p += n) {
            const double* at = points.data() + p;
            const Real<double> change =
                slope<name>(paired<pairing>(row, at, width, kBlock), kernel);
            for (std::size_t o = 0; o < task.outputs; ++o) {
                const double coef = task.coef[o * task.count + i];
                if (coef == 0.0) continue;
                add_direction<pairing>(row, at, width, kBlock, coef * change,
                                       gradients.data() + o * width * kBlock + p);
            }
        }
    }
    for (std::size_t o = 0; o < task.outputs; ++o) {
        for (std::size_t e = 0; e < valid; ++e) {
            double* out = task.out + (o * task.m + first + e) * width;
            for (std::size_t j = 0; j < width; ++j) {
                out[j] = gradients.data()[(o * width + j) * kBlock + e];
            }
        }
    }
}

inline void kernel_gradients(const KernelFunction& kernel, const GradientTask& task) {
    const auto blocks = static_cast<std::int64_t>((task.m + kBlock - 1) / kBlock);
    FirstException failure;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) \
    num_threads(task.threads) if (task.threads > 1 && blocks > 1)
#endif
    for (std::int64_t b = 0; b < blocks; ++b) {
        failure.run([&] {
            with_kernel(kernel.name, [&](auto name) {
                block_gradients<name.value>(kernel, task, static_cast<std::size_t>(b) * kBlock);
            });
        });
    }
    failure.rethrow();
}

}  // namespace widemargin::WIDEMARGIN_ISA
