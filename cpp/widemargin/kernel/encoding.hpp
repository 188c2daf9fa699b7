// Which inputs become numbers, bits or categories, so that distances are cheap and exact.
#pragma once

#include <optional>
#include <vector>

#include "widemargin/kernel/types.hpp"
#include "widemargin/rows/types.hpp"

namespace widemargin {

// How each input is stored.
struct Encoding {
    bool double_precision = false;  // otherwise float
    bool sparse = false;            // compressed rows; then only the next three apply
    Pairing pairing = Pairing::product;
    bool cancels = false;  // see PackedView
    std::size_t width = 0;
    std::vector<double> centre;  // c of PackedView; empty if it is 0

    struct Input {
        std::int32_t column;
        double offset;  // subtracted
    };
    struct Flag {  // a two-valued input: 1 where it is not `off`
        std::int32_t column;
        double off;
    };
    struct Category {
        std::int32_t column;
        double off;
        double weight;  // (on - off)^2 or |on - off|
    };
    std::vector<Input> inputs;
    std::vector<Flag> bits;
    double bit_weight = 0.0;
    std::vector<std::vector<Category>> groups;

    std::size_t words() const { return (bits.size() + 31) / 32; }  // of 32 bits
};

// Some examples of a set of rows, by number.
struct Selection {
    const Rows* rows;
    const std::int64_t* order;
    std::size_t count;
};

Pairing pairing_of(const KernelFunction& kernel);
bool uses_distances(const KernelFunction& kernel);

// The cheapest encoding of all sets together. If `double_precision` is not given, it is float where
// that is accurate enough. Products are those of x - centre, if there is a centre; distances do not
// depend on it.
Encoding choose_encoding(const KernelFunction& kernel, const std::vector<Selection>& sets,
                         std::optional<bool> double_precision, std::vector<double> centre = {});

}  // namespace widemargin
