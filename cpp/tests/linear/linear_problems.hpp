// Examples in every layout for linear models, and criteria by their definitions.
//
// Buffers have exactly the size they need, so that a read past the end of a row is an error under
// AddressSanitizer.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/checks.hpp"

namespace widemargin::tests {

inline bool close(double a, double b) {
    return near(a, b, 1e-12);
}

inline bool close(const Doubles& a, const Doubles& b) {
    bool all = a.size() == b.size();
    for (std::size_t i = 0; all && i < a.size(); ++i) all = close(a[i], b[i]);
    return all;
}

inline bool close(const Tally& a, const Tally& b) {
    return a.updates == b.updates && close(a.criterion, b.criterion) && close(a.errors, b.errors) &&
           close(a.weight, b.weight);
}

inline bool close(const DualTally& a, const DualTally& b) {
    return a.kept == b.kept && a.updates == b.updates && close(a.violation, b.violation) &&
           close(a.sum, b.sum);
}

// ------------------------------------------------------------------------------------- data

constexpr Layout layouts[] = {Layout::dense32, Layout::dense64, Layout::sparse32, Layout::sparse64};

inline bool is_dense(Layout layout) {
    return layout == Layout::dense32 || layout == Layout::dense64;
}
inline bool is_single(Layout layout) {
    return layout == Layout::dense32 || layout == Layout::sparse32;
}

// Examples in one of the layouts, and `x`, the same numbers as a plain matrix.
struct Data {
    std::size_t count, width;
    Layout layout;
    Doubles x, stored64;
    std::vector<float> stored32;
    std::vector<std::int32_t> columns;
    Order starts{0};

    // A third of the inputs are zero, and every fifth row is empty (the last one too).
    Data(Random& random, Layout layout, std::size_t count, std::size_t width)
        : count(count), width(width), layout(layout), x(count * width) {
        for (std::size_t l = 0; l < count; ++l) {
            for (std::size_t j = 0; j < width; ++j) {
                double value = random.centred() + 0.3;
                if (l % 5 == 4 || random.below(3) == 0) value = 0.0;
                if (is_single(layout)) value = static_cast<float>(value);
                x[l * width + j] = value;
                if (value == 0.0 && !is_dense(layout)) continue;
                stored64.push_back(value);
                columns.push_back(static_cast<std::int32_t>(j));
            }
            starts.push_back(static_cast<std::int64_t>(stored64.size()));
        }
        stored64 = Doubles(stored64.begin(), stored64.end());  // no spare capacity
        columns = std::vector<std::int32_t>(columns.begin(), columns.end());
        stored32 = std::vector<float>(stored64.begin(), stored64.end());
    }

    Rows rows() const {
        const void* values = is_single(layout) ? static_cast<const void*>(stored32.data())
                                               : static_cast<const void*>(stored64.data());
        return is_dense(layout) ? Rows{layout, values, nullptr, nullptr, count, width}
                                : Rows{layout, values, columns.data(), starts.data(), count, width};
    }

    double at(std::size_t l, std::size_t j) const { return x[l * width + j]; }
};

// Some of the examples, no two of them equal: once one of two equal examples is optimal, rounding
// would decide whether the other moves.
inline Order some_of(const Data& data, const Order& all, std::size_t most) {
    Order order;
    for (const auto id : all) {
        const auto row = data.x.begin() + id * static_cast<std::int64_t>(data.width);
        const auto equal = [&](std::int64_t other) {
            return std::equal(row, row + static_cast<std::int64_t>(data.width),
                              data.x.begin() + other * static_cast<std::int64_t>(data.width));
        };
        if (order.size() < most && std::none_of(order.begin(), order.end(), equal)) {
            order.push_back(id);
        }
    }
    return order;
}

// How the inputs are standardised (with 0 and 1 if they are not) and packed.
struct Inputs {
    const Data& data;
    bool standardized;
    Doubles mean, scale;
    std::size_t dense_inputs;          // of the packed examples
    std::vector<std::int32_t> places;  // of their inputs

    Inputs(Random& random, const Data& data, bool standardized)
        : data(data),
          standardized(standardized),
          mean(random.vector(data.width)),
          scale(random.vector(data.width)),
          dense_inputs(random.below(data.width + 1)) {
        for (double& value : scale) value = 1.0 + 0.4 * value;
        if (!standardized) {
            mean.assign(data.width, 0.0);
            scale.assign(data.width, 1.0);
        }
        Order shuffled = first_ones(data.width);
        shuffle(shuffled.data(), data.width, random.below(1000), 0);
        places.assign(shuffled.begin(), shuffled.end());
    }

    // xh
    double at(std::size_t l, std::size_t j) const { return (data.at(l, j) - mean[j]) / scale[j]; }

    bool sparse_works = false;  // unpacked, unless it is standardised

    // Calls train(rows, statistics) with the plain rows if training works with them, otherwise with
    // packed rows. Each of `all_weights` is converted for the packed inputs and back.
    template <class Train>
    auto visit(const Loops& table, bool as_packed, const double* y, const double* weights,
               std::initializer_list<Doubles*> all_weights, Train&& train) const {
        const bool works = is_dense(data.layout) || (sparse_works && !standardized);
        if (!as_packed && works) {
            return train(data.rows(), standardized ? Standardization{mean.data(), scale.data()}
                                                   : Standardization{});
        }
        Doubles centre(data.width);
        for (std::size_t j = 0; j < data.width; ++j) {
            if (places[j] >= static_cast<std::int32_t>(dense_inputs))
                centre[places[j]] = mean[j] / scale[j];
        }
        const Packed packed = pack(table, y, weights);
        for (Doubles* w : all_weights) *w = to_places(*w);
        const auto result =
            train(packed.rows,
                  standardized ? Standardization{centre.data(), nullptr} : Standardization{});
        for (Doubles* w : all_weights) *w = from_places(*w);
        return result;
    }

   private:
    // Packed examples, in memory of exactly the size they need.
    struct Packed {
        struct alignas(64) Line {
            double values[8];
        };
        std::vector<std::int32_t> first_lines;
        std::vector<Line> lines;
        Rows rows;
    };
    Packed pack(const Loops& table, const double* y, const double* weights) const {
        const Rows plain = data.rows();
        std::size_t size = 0;
        for (std::size_t l = 0; l < data.count; ++l) {
            std::size_t stored = 0;
            for (std::size_t j = 0; j < data.width; ++j) {
                stored +=
                    data.at(l, j) != 0.0 && places[j] >= static_cast<std::int32_t>(dense_inputs);
            }
            size += (24 + 8 * dense_inputs + 12 * stored + 63) / 64;
        }
        const Packing packing{dense_inputs, places.data(), standardized ? mean.data() : nullptr,
                              standardized ? scale.data() : nullptr};
        CHECK(table.pack(plain, nullptr, nullptr, packing, nullptr, nullptr) == size,
              "%s width %zu", table.isa, data.width);
        Packed packed{std::vector<std::int32_t>(data.count + 1), std::vector<Packed::Line>(size),
                      plain};
        table.pack(plain, y, weights, packing, packed.first_lines.data(),
                   reinterpret_cast<unsigned char*>(packed.lines.data()));
        packed.rows = {Layout::packed, packed.lines.data(), packed.first_lines.data(),
                       nullptr,        data.count,          data.width,
                       dense_inputs};
        return packed;
    }

    // The weights of packed inputs: at their places, times the scale.
    Doubles to_places(const Doubles& weights_of_inputs) const {
        Doubles placed(weights_of_inputs.size());
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const std::size_t j = i % data.width;
            placed[i - j + places[j]] = weights_of_inputs[i] * scale[j];
        }
        return placed;
    }
    Doubles from_places(const Doubles& placed) const {
        Doubles weights_of_inputs(placed.size());
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const std::size_t j = i % data.width;
            weights_of_inputs[i] = placed[i - j + places[j]] / scale[j];
        }
        return weights_of_inputs;
    }
};

// Weights in [0.5, 1.5), every seventh zero.
inline Doubles random_weights(Random& random, std::size_t count) {
    Doubles weights(count);
    for (std::size_t l = 0; l < count; ++l) weights[l] = l % 7 == 3 ? 0.0 : 0.5 + random.uniform();
    return weights;
}

inline Doubles random_targets(Random& random, std::size_t count, std::size_t outputs) {
    Doubles y(count);
    for (double& value : y) {
        value = outputs == 1 ? 2.0 * static_cast<double>(random.below(2)) - 1.0
                             : static_cast<double>(random.below(outputs));
    }
    return y;
}

// ----------------------------------------------------------------------- what must come out

constexpr Criterion criteria[] = {{CriterionName::perceptron, 0.0},
                                  {CriterionName::margin, 0.7},
                                  {CriterionName::squared_margin, 0.7},
                                  {CriterionName::cross_entropy, 0.0},
                                  {CriterionName::mse, 0.0},
                                  {CriterionName::tanh_mse, 0.0},
                                  {CriterionName::epsilon_insensitive, 0.2}};

inline double plain_value(const Criterion& q, double y, double f) {
    const double slack = std::fmax(0.0, q.parameter - y * f);
    switch (q.name) {
        case CriterionName::perceptron:
        case CriterionName::margin: return slack;
        case CriterionName::squared_margin: return slack * slack;
        case CriterionName::cross_entropy: return std::log1p(std::exp(-y * f));
        case CriterionName::mse: return 0.5 * (y - f) * (y - f);
        case CriterionName::tanh_mse: return 0.5 * std::pow(y - std::tanh(f), 2);
        case CriterionName::epsilon_insensitive: break;
    }
    return std::fmax(0.0, std::fabs(y - f) - q.parameter);
}

inline double plain_derivative(const Criterion& q, double y, double f) {
    switch (q.name) {
        case CriterionName::perceptron:
        case CriterionName::margin: return y * f <= q.parameter ? -y : 0.0;
        case CriterionName::squared_margin: return -2.0 * y * std::fmax(0.0, q.parameter - y * f);
        case CriterionName::cross_entropy: return -y * std::exp(-y * f) / (1.0 + std::exp(-y * f));
        case CriterionName::mse: return f - y;
        case CriterionName::tanh_mse: return (std::tanh(f) - y) * std::pow(std::cosh(f), -2);
        case CriterionName::epsilon_insensitive: break;
    }
    if (y - f >= q.parameter) return -1.0;
    return f - y >= q.parameter ? 1.0 : 0.0;
}

// y_lk: the target itself, or +1 for class k and -1 for the rest
inline double target(const Doubles& y, std::size_t l, std::size_t k, std::size_t outputs) {
    return outputs == 1 ? y[l] : y[l] == static_cast<double>(k) ? 1.0 : -1.0;
}

inline bool misclassified(const Doubles& f, double y) {
    if (f.size() == 1) return (f[0] > 0.0) != (y > 0.0);
    std::size_t best = 0;
    for (std::size_t k = 1; k < f.size(); ++k) best = f[k] > f[best] ? k : best;
    return static_cast<double>(best) != y;
}

}  // namespace widemargin::tests
