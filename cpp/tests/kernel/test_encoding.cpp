// How each input is encoded: as a number, a bit, a category, or not at all.
#include <cmath>
#include <optional>

#include "tests/kernel/kernel_examples.hpp"

namespace widemargin::tests {
namespace {

Encoding encode(const KernelFunction& kernel, const Rows& rows,
                std::optional<bool> double_precision = std::nullopt) {
    const Order every = first_ones(rows.count);
    return choose_encoding(kernel, {{&rows, every.data(), every.size()}}, double_precision);
}

void test_parts(Random& random) {
    Data mixed = make_data(random, Kind::mixed, 50, false);
    const Encoding parts = encode(rbf, mixed.dense());
    CHECK(!parts.double_precision && !parts.sparse && parts.width == 60, "mixed");
    CHECK(parts.inputs.size() == 7 && parts.inputs.back().column == 6, "the constant is dropped");
    CHECK(parts.bits.size() == 40 && parts.bit_weight == 0.75 * 0.75, "%zu bits of %g",
          parts.bits.size(), parts.bit_weight);
    CHECK(parts.groups.size() == 1 && parts.groups[0].size() == 12, "%zu groups",
          parts.groups.size());
    for (const auto& category : parts.groups.at(0)) {
        CHECK(category.off == 0.0, "column %d has %g for most examples", category.column,
              category.off);
    }
    const Encoding products = encode(linear, mixed.dense());
    CHECK(products.double_precision && products.inputs.size() == 60 && products.bits.empty(),
          "products");
    CHECK(!encode(linear, mixed.dense(), false).double_precision, "float is asked for");
    CHECK(encode(rbf, mixed.dense(), true).double_precision, "double is asked for");

    // terms of other distances, in the same parts
    const Encoding sums = encode(laplacian, mixed.dense());
    CHECK(sums.pairing == Pairing::absolute_distance && sums.bits.size() == 40 &&
              sums.bit_weight == 0.75 && sums.groups.size() == 1,
          "%zu bits of %g", sums.bits.size(), sums.bit_weight);
    for (std::size_t i = 0; i < sums.groups.at(0).size(); ++i) {
        const double step = sums.groups[0][i].weight;
        CHECK(parts.groups[0][i].weight == step * step, "a step of %g", step);
    }
    const Encoding roots = encode(exponential_power(0.5), mixed.dense());
    CHECK(roots.pairing == Pairing::squared_distance && roots.bit_weight == parts.bit_weight,
          "the power is taken at the end");

    // too few with one step, and not exclusive: they stay numbers
    Data few(50, 7);
    add_bits(random, few, 0, 7);
    CHECK(encode(rbf, few.dense()).inputs.size() == 7, "seven bits");

    // two sets share an encoding: a column may differ only between them
    Data one(20, 1), other(20, 1);
    add_constant(one, 0);
    const Rows a = one.dense(), b = other.dense();
    const Order every = first_ones(20);
    const Selection first{&a, every.data(), 20}, second{&b, every.data(), 20};
    CHECK(choose_encoding(rbf, {first, second}, std::nullopt).inputs.size() == 1, "two sets");
}

void test_sparse(Random& random) {
    Data data = make_data(random, Kind::sparse, 50, false);
    for (const Rows& rows : {data.dense(), data.sparse()}) {
        CHECK(encode(rbf, rows).sparse && !encode(rbf, rows).double_precision, "mostly zeros");
        CHECK(encode(linear, rows).sparse && encode(linear, rows).double_precision, "mostly zeros");
    }
    // norms this large would cancel in float
    for (double& value : data.x) value *= 16.0;
    CHECK(!encode(rbf, data.dense()).sparse && !encode(rbf, data.dense()).double_precision,
          "large norms");
    CHECK(encode(rbf, data.dense(), true).sparse, "large norms in double");

    Data broad(3, 2500);
    broad.at(0, 7) = broad.at(2, 2499) = 1.0;
    CHECK(encode(rbf, broad.sparse()).sparse && !encode(rbf, broad.sparse()).double_precision,
          "broad");
    broad.at(1, 0) = 100.0;
    CHECK(encode(rbf, broad.sparse()).sparse && encode(rbf, broad.sparse()).double_precision,
          "large norms");
}

// Roots magnify what cancels: they need distances that are seldom small beside the norms, and the
// others are summed again.
void test_sparse_roots(Random& random) {
    Data data = make_data(random, Kind::sparse, 50, false);
    for (const KernelFunction& kernel : {exponential, laplacian, exponential_power(2.0)}) {
        for (const Rows& rows : {data.dense(), data.sparse()}) {
            const Encoding found = encode(kernel, rows);
            CHECK(found.sparse && found.cancels && !found.double_precision, "mostly zeros");
        }
    }
    for (std::size_t l = 0; l < data.count; ++l) data.at(l, 5) = 1000.0 + random.centred();
    for (const KernelFunction& kernel : {exponential, laplacian}) {
        CHECK(!encode(kernel, data.sparse(), true).sparse, "all distances are small");
    }
    CHECK(encode(rbf, data.sparse(), true).sparse, "squares are precise enough");
}

// Double where float does not resolve the inputs at the scale of the kernel; otherwise centred.
void test_large_inputs(Random& random) {
    Data data(50, 2);
    for (double& value : data.x) value = 1e6 + random.centred();
    const Encoding encoding = encode(rbf, data.dense());
    CHECK(!encoding.double_precision && std::fabs(encoding.inputs.at(0).offset - 1e6) < 1.0, "%g",
          encoding.inputs.at(0).offset);
    const Order every = first_ones(50);
    const Rows rows = data.dense();
    const PackedExamples packed({&rows, every.data(), 50}, encoding);
    check_matrix({data, rbf, every, packed, "large inputs"});

    for (double& value : data.x) value = 1e6 * random.centred();
    CHECK(encode(rbf, data.dense()).double_precision, "large differences");
    CHECK(encode(rbf, data.dense()).inputs.at(0).offset == 0.0, "double needs no centre");
    CHECK(!encode({KernelName::rbf, 1e-12, 0.0, 0}, data.dense()).double_precision,
          "large, but not to gamma");
    for (const double q : {0.5, 1.0, 1.5}) {
        const double gamma = std::pow(1e-6, q);
        CHECK(
            encode({KernelName::exponential_power, 1.0, 0.0, 0, q}, data.dense()).double_precision,
            "large differences to the power of %g", q);
        CHECK(!encode({KernelName::exponential_power, gamma, 0.0, 0, q}, data.dense())
                   .double_precision,
              "large, but not to gamma, to the power of %g", q);
    }
    CHECK(encode(laplacian, data.dense()).double_precision, "large differences in L1");
    for (double& value : data.x) value = std::round(value);
    CHECK(!encode(rbf, data.dense()).double_precision, "floats as given");
}

}  // namespace

void test_encoding(Random& random) {
    test_parts(random);
    test_sparse(random);
    test_sparse_roots(random);
    test_large_inputs(random);
}

}  // namespace widemargin::tests
