// Gradients of kernel expansions against differences of plain loops.
#include <cmath>
#include <utility>

#include "tests/kernel/kernel_examples.hpp"

namespace widemargin::tests {
namespace {

Doubles gradients(const KernelFunction& kernel, const Data& rows, const Doubles& coef,
                  std::size_t outputs, const Data& points, int threads = 1) {
    Doubles out(outputs * points.count * points.width, kNaN);
    loops().kernel_gradients(
        kernel, {rows.x.data(), rows.count, coef.data(), outputs, points.x.data(), points.count,
                 points.width, out.data(), threads});
    return out;
}

void check_differences(const KernelFunction& kernel, Random& random, std::size_t count,
                       std::size_t m, std::size_t width) {
    Data rows(count, width), points(m, width);
    rows.x = random.vector(count * width);
    points.x = random.vector(m * width);
    const std::size_t outputs = 2;
    Doubles coef = random.vector(outputs * count);
    if (count > 1) coef[1] = 0.0;
    const Doubles found = gradients(kernel, rows, coef, outputs, points);
    CHECK(found == gradients(kernel, rows, coef, outputs, points, 2), "two threads");
    const double h = 1e-5;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t o = i / (m * width), p = i / width % m, j = i % width;
        double change = 0.0, size = 0.0;
        for (std::size_t l = 0; l < count; ++l) {
            Doubles up(points.row(p), points.row(p) + width), down = up;
            up[j] += h;
            down[j] -= h;
            const double step = plain_kernel(kernel, rows.row(l), up.data(), width) -
                                plain_kernel(kernel, rows.row(l), down.data(), width);
            change += coef[o * count + l] * step / (up[j] - down[j]);
            size += std::fabs(coef[o * count + l]);
        }
        CHECK(std::fabs(found[i] - change) <= 1e-6 * (1.0 + size),
              "kernel %d, exponent %g, output %zu, point %zu, input %zu: %.10g, not %.10g",
              static_cast<int>(kernel.name), kernel.exponent, o, p, j, found[i], change);
    }
}

// The term of an example that is the point itself has no derivative, and counts 0.
void check_equal_points(const KernelFunction& kernel, Random& random) {
    Data one(1, 3), two(2, 3);
    one.x = random.vector(3);
    const Doubles zero = gradients(kernel, one, {1.0}, 1, one);
    CHECK(zero == Doubles(3), "%g %g %g", zero[0], zero[1], zero[2]);
    const Doubles other = random.vector(3);
    for (std::size_t j = 0; j < 3; ++j) {
        two.at(0, j) = one.at(0, j);
        two.at(1, j) = other[j];
    }
    Data alone(1, 3);
    alone.x = other;
    CHECK(gradients(kernel, two, {1.0, 0.5}, 1, one) == gradients(kernel, alone, {0.5}, 1, one),
          "a point among the rows");
}

}  // namespace

void test_kernel_gradients(Random& random) {
    std::vector<KernelFunction> kernels(std::begin(kernel_functions), std::end(kernel_functions));
    for (const double q : {0.5, 1.0, 1.3, 1.5, 2.0}) kernels.push_back(exponential_power(q));
    for (const double q : {0.5, 0.6, 1.0}) kernels.push_back(laplacian_power(q));
    kernels.push_back({KernelName::poly, 0.25, 1.0, 0});
    kernels.push_back({KernelName::poly, 0.25, 1.0, 1});
    for (const KernelFunction& kernel : kernels) {
        for (const auto& [count, m] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 17}, {9, 35}})
            check_differences(kernel, random, count, m, 4);
        if (uses_distances(kernel)) check_equal_points(kernel, random);
    }
}

}  // namespace widemargin::tests
