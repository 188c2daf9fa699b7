// Examples of every kind for kernels, and values of the kernel by plain loops.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "tests/checks.hpp"
#include "widemargin/kernel/packed_examples.hpp"

namespace widemargin::tests {

// ------------------------------------------------------------------------------------- data

// A matrix, and the same numbers as dense or compressed rows, of double or float.
struct Data {
    std::size_t count, width;
    Doubles x, stored64;
    std::vector<float> stored32;
    std::vector<std::int32_t> columns;
    Order starts;

    Data(std::size_t count, std::size_t width) : count(count), width(width), x(count * width) {}

    double& at(std::size_t l, std::size_t j) { return x[l * width + j]; }
    const double* row(std::size_t l) const { return x.data() + l * width; }

    Rows dense(bool double_precision = true) {
        if (double_precision) return {Layout::dense64, x.data(), nullptr, nullptr, count, width};
        stored32.assign(x.begin(), x.end());
        return {Layout::dense32, stored32.data(), nullptr, nullptr, count, width};
    }
    Rows sparse(bool double_precision = true) {
        stored64.clear();
        columns.clear();
        starts.assign(1, 0);
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (x[i] != 0.0) {
                stored64.push_back(x[i]);
                columns.push_back(static_cast<std::int32_t>(i % width));
            }
            if (i % width == width - 1) {
                starts.push_back(static_cast<std::int64_t>(stored64.size()));
            }
        }
        stored32.assign(stored64.begin(), stored64.end());
        const void* values = double_precision ? static_cast<const void*>(stored64.data())
                                              : static_cast<const void*>(stored32.data());
        return {double_precision ? Layout::sparse64 : Layout::sparse32,
                values,
                columns.data(),
                starts.data(),
                count,
                width};
    }
};

enum class Kind { numbers, bits, groups, mixed, sparse };
constexpr Kind kinds[] = {Kind::numbers, Kind::bits, Kind::groups, Kind::mixed, Kind::sparse};

inline void add_numbers(Random& random, Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        for (std::size_t j = first; j < first + n; ++j) data.at(l, j) = random.centred();
    }
}
inline void add_bits(Random& random, Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
            const double off = j % 3 == 0 ? -0.25 : 0.0;
            data.at(l, first + j) = random.below(2) ? off : off + 0.75;
        }
    }
}
// At most one of these columns differs from 0, and each by a step of its own. Examples are sorted.
inline void add_group(Data& data, std::size_t first, std::size_t n) {
    for (std::size_t l = 0; l < data.count; ++l) {
        const std::size_t j = l * (n + 1) / data.count;
        if (j < n) data.at(l, first + j) = static_cast<double>(first + j + 1) / 16.0;
    }
}
inline void add_constant(Data& data, std::size_t j) {
    for (std::size_t l = 0; l < data.count; ++l) data.at(l, j) = 0.5;
}

// Numbers of the type that the kernel is computed in, so that only its arithmetic is inexact.
inline Data make_data(Random& random, Kind kind, std::size_t count, bool double_precision) {
    Data data(count, kind == Kind::sparse ? 300 : 60);
    switch (kind) {
        case Kind::numbers:
            data = Data(count, 9);
            add_numbers(random, data, 0, 8);
            add_constant(data, 8);
            break;
        case Kind::bits:
            data = Data(count, 41);
            add_bits(random, data, 0, 41);
            break;
        case Kind::groups:
            data = Data(count, 13);
            add_group(data, 0, 6);
            add_group(data, 6, 7);
            break;
        case Kind::mixed:
            add_numbers(random, data, 0, 7);
            add_bits(random, data, 7, 40);
            add_group(data, 47, 12);
            add_constant(data, 59);
            break;
        case Kind::sparse:
            for (std::size_t l = 0; l < count; ++l) {
                if (l % 7 == 3) continue;  // an example without inputs
                for (std::size_t j = 0; j < data.width; ++j) {
                    if (random.below(30) == 0) data.at(l, j) = random.centred();
                }
            }
            break;
    }
    for (double& value : data.x) value = double_precision ? value : static_cast<float>(value);
    return data;
}

constexpr KernelFunction rbf = {KernelName::rbf, 0.3, 0.0, 0};
constexpr KernelFunction linear = {KernelName::linear, 0.0, 0.0, 0};
constexpr KernelFunction exponential = {KernelName::exponential, 0.3, 0.0, 0};
constexpr KernelFunction laplacian = {KernelName::laplacian, 0.2, 0.0, 0};
constexpr KernelFunction exponential_power(double exponent) {
    return {KernelName::exponential_power, 0.4, 0.0, 0, exponent};
}
constexpr KernelFunction laplacian_power(double exponent) {
    return {KernelName::laplacian_power, 0.4, 0.0, 0, exponent};
}
constexpr KernelFunction kernel_functions[] = {rbf,
                                               linear,
                                               {KernelName::poly, 0.25, 1.0, 3},
                                               {KernelName::sigmoid, 0.1, -0.25, 0},
                                               exponential,
                                               exponential_power(0.7),
                                               laplacian,
                                               laplacian_power(0.75)};

inline double plain_kernel(const KernelFunction& k, const double* x, const double* other,
                           std::size_t width) {
    long double product = 0.0L, squared = 0.0L, absolute = 0.0L;
    for (std::size_t j = 0; j < width; ++j) {
        const long double a = x[j], b = other[j];
        product += a * b;
        squared += (a - b) * (a - b);
        absolute += std::fabs(a - b);
    }
    const long double inner = k.gamma * product + k.coef0;
    switch (k.name) {
        case KernelName::linear: return static_cast<double>(product);
        case KernelName::poly: return static_cast<double>(std::pow(inner, k.degree));
        case KernelName::sigmoid: return static_cast<double>(std::tanh(inner));
        default: break;
    }
    const bool in_l1 = pairing_of(k) == Pairing::absolute_distance;
    const long double power = k.name == KernelName::rbf ? 2.0L : k.exponent;
    const long double distance = in_l1 ? absolute : std::sqrt(squared);
    return static_cast<double>(std::exp(-k.gamma * std::pow(distance, power)));
}

// ------------------------------------------------------------------------ the kernel's rows

// Rows of some examples over others, and sums of them.
struct Use {
    std::size_t first = 0, last = 0;  // blocks
    Doubles coef;                     // outputs x rows
    std::size_t outputs = 0;
    std::vector<bool> kept;  // empty: all
    int threads = 1;
};
struct Values {
    std::vector<Doubles> rows;  // NaN where nothing was written
    Doubles f;

    bool operator==(const Values& other) const { return rows == other.rows && f == other.f; }
};

template <class T>
Values compute_as(const KernelFunction& kernel, const PackedView& from, const Order& index,
                  const PackedView& at, const Use& use, Doubles f) {
    const std::size_t stride = rounded_to_blocks(at.count);
    std::vector<std::vector<T>> rows(index.size(), std::vector<T>(stride, static_cast<T>(kNaN)));
    std::vector<void*> keep;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        keep.push_back(use.kept.empty() || use.kept[r] ? rows[r].data() : nullptr);
    }
    loops().kernel_rows(kernel, {&from, index.data(), index.size()}, at,
                        {use.first, use.last ? use.last : stride / kBlock, use.outputs,
                         use.coef.data(), f.data(), stride, keep.data(), use.threads});
    Values values{{}, std::move(f)};
    for (const auto& row : rows) values.rows.emplace_back(row.begin(), row.end());
    return values;
}

inline Values compute(const KernelFunction& kernel, const PackedView& from, const Order& index,
                      const PackedView& at, const Use& use = {}, const Doubles& f = {}) {
    return at.double_precision ? compute_as<double>(kernel, from, index, at, use, f)
                               : compute_as<float>(kernel, from, index, at, use, f);
}

struct Case {
    const Data& data;
    KernelFunction kernel;
    const Order& order;  // of the packed examples
    const PackedExamples& packed;
    const char* text;
};

// All values, after checking that they are right, symmetric, and exact for equal examples.
inline std::vector<Doubles> check_matrix(const Case& c) {
    const std::size_t n = c.packed.view().count;
    const Values all = compute(c.kernel, c.packed.view(), first_ones(n), c.packed.view());
    const double tolerance = c.packed.view().double_precision ? 1e-13 : 1e-5;
    for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
            const double* x = c.data.row(static_cast<std::size_t>(c.order[a]));
            const double* other = c.data.row(static_cast<std::size_t>(c.order[b]));
            const double value = all.rows[a][b];
            const double wanted = plain_kernel(c.kernel, x, other, c.data.width);
            CHECK(near(value, wanted, tolerance), "%s: k(%zu, %zu) = %.17g, not %.17g", c.text, a,
                  b, value, wanted);
            CHECK(value == all.rows[b][a], "%s: %zu, %zu", c.text, a, b);
            // norms of sparse rows are rounded; where a power would show that, they are not used
            const bool exact = c.packed.view().values == nullptr || c.packed.view().cancels;
            if (exact && uses_distances(c.kernel) && c.order[a] == c.order[b]) {
                CHECK(value == 1.0, "%s: k(%zu, %zu) = 1 - %g", c.text, a, b, 1.0 - value);
            }
        }
    }
    return all.rows;
}

}  // namespace widemargin::tests
