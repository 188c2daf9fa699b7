// Examples in blocks and rows of the kernel, on the instruction set that WIDEMARGIN_ISA names,
// against plain loops. Returns 77 if this CPU does not have that set.
//
// Buffers have exactly the size they need, so that a read past their end is an error under
// AddressSanitizer.
#include <cmath>
#include <string>

#include "tests/kernel/kernel_examples.hpp"

namespace widemargin::tests {
namespace {

std::string describe(Kind kind, const KernelFunction& kernel, bool double_precision,
                     std::size_t count) {
    static const char* kind_names[] = {"numbers", "bits", "groups", "mixed", "sparse"};
    static const char* names[] = {"linear",      "poly",
                                  "rbf",         "sigmoid",
                                  "exponential", "power of exponential",
                                  "laplacian",   "power of laplacian"};
    return std::string(names[static_cast<int>(kernel.name)]) +
           (double_precision ? " double " : " float ") + kind_names[static_cast<int>(kind)] + " " +
           std::to_string(count);
}

// A value depends neither on the number of rows nor on the places of its examples.
void check_places(Random& random, const Case& c, const std::vector<Doubles>& all) {
    const PackedView& view = c.packed.view();
    for (std::size_t a = 0; a < view.count; a += 3) {
        const Values one = compute(c.kernel, view, {static_cast<std::int64_t>(a)}, view);
        for (std::size_t b = 0; b < view.count; ++b) {
            CHECK(one.rows[0][b] == all[a][b], "%s: %zu, %zu alone", c.text, a, b);
        }
    }
    const Order rows = random_order(random, view.count, 14);
    for (const std::size_t n : {std::size_t{1}, std::size_t{21}}) {
        const Order places = random_order(random, view.count, n);
        const PackedExamples some = c.packed.gather(places.data(), n);
        const Values moved = compute(c.kernel, view, rows, some.view());
        const Values gathered = compute(c.kernel, some.view(), first_ones(n), some.view());
        for (std::size_t b = 0; b < n; ++b) {
            const auto place = static_cast<std::size_t>(places[b]);
            for (std::size_t r = 0; r < rows.size(); ++r) {
                CHECK(moved.rows[r][b] == all[static_cast<std::size_t>(rows[r])][place],
                      "%s: row %zu at place %zu of %zu", c.text, r, b, n);
            }
            for (std::size_t a = 0; a < n; ++a) {
                CHECK(gathered.rows[a][b] == all[static_cast<std::size_t>(places[a])][place],
                      "%s: %zu, %zu of %zu", c.text, a, b, n);
            }
        }
    }
}

// Sums of rows over some of the blocks, with some rows kept; the other blocks stay as they are.
void check_use(Random& random, const Case& c, const std::vector<Doubles>& all) {
    const PackedView& view = c.packed.view();
    const std::size_t blocks = c.packed.blocks(), stride = blocks * kBlock;
    for (const std::size_t n : {1, 2, 13, 33}) {
        const Order rows = random_order(random, view.count, n);
        Use use;
        use.first = blocks > 1 ? 1 : 0;
        use.last = blocks > 2 ? blocks - 1 : blocks;
        use.outputs = 3;
        use.coef = random.vector(use.outputs * n);
        for (std::size_t r = 0; r < n; ++r) use.kept.push_back(r % 3 != 1);
        const Doubles before = random.vector(use.outputs * stride);
        const Values values = compute(c.kernel, view, rows, view, use, before);
        for (std::size_t b = 0; b < stride; ++b) {
            const bool inside = use.first <= b / kBlock && b / kBlock < use.last;
            for (std::size_t r = 0; r < n; ++r) {
                const double value = values.rows[r][b];
                if (!inside || !use.kept[r]) {
                    CHECK(std::isnan(value), "%s: row %zu of %zu at %zu", c.text, r, n, b);
                } else if (b < view.count) {
                    CHECK(value == all[static_cast<std::size_t>(rows[r])][b],
                          "%s: row %zu of %zu at %zu", c.text, r, n, b);
                }
            }
            for (std::size_t o = 0; o < use.outputs && (!inside || b < view.count); ++o) {
                long double sum = before[o * stride + b], size = std::fabs(sum);
                for (std::size_t r = 0; inside && r < n; ++r) {
                    const double k = all[static_cast<std::size_t>(rows[r])][b];
                    sum += static_cast<long double>(use.coef[o * n + r]) * k;
                    size += std::fabs(use.coef[o * n + r] * k);
                }
                CHECK(std::fabs(values.f[o * stride + b] - static_cast<double>(sum)) <=
                          (inside ? 1e-14 * static_cast<double>(size) : 0.0),
                      "%s: output %zu of %zu rows at %zu", c.text, o, n, b);
            }
        }
    }
}

void check_threads(Random& random, const Case& c) {
    const PackedView& view = c.packed.view();
    const Order rows = random_order(random, view.count, 35);
    Use use;
    use.outputs = 2;
    use.coef = random.vector(use.outputs * rows.size());
    const Doubles before = random.vector(use.outputs * rounded_to_blocks(view.count));
    const Values one = compute(c.kernel, view, rows, view, use, before);
    use.threads = 2;
    CHECK(compute(c.kernel, view, rows, view, use, before) == one, "%s: two threads", c.text);
}

void check_layout(Kind kind, const KernelFunction& kernel, const PackedView& view,
                  const char* text) {
    struct Layout {
        bool sparse;
        std::size_t inputs, words, groups;
        bool operator==(const Layout&) const = default;
    };
    const std::size_t widths[] = {9, 41, 13, 60, 300};
    const Layout of_distances[] = {
        {false, 8, 0, 0}, {false, 0, 2, 0}, {false, 0, 0, 2}, {false, 7, 2, 1}, {true, 300, 0, 0}};
    const auto k = static_cast<std::size_t>(kind);
    const Layout wanted =
        uses_distances(kernel) ? of_distances[k] : Layout{kind == Kind::sparse, widths[k], 0, 0};
    const Layout found{view.values != nullptr, view.width, view.words, view.groups};
    CHECK(found == wanted, "%s: %d, %zu inputs, %zu words, %zu groups", text, found.sparse,
          found.inputs, found.words, found.groups);
}

void test_rows(Random& random) {
    for (const Kind kind : kinds) {
        for (const bool double_precision : {false, true}) {
            Data data = make_data(random, kind, 300, double_precision);
            const Rows stored =
                kind == Kind::sparse ? data.sparse(double_precision) : data.dense(double_precision);
            const Order every = first_ones(data.count);
            for (const KernelFunction& kernel : kernel_functions) {
                const Encoding encoding = choose_encoding(
                    kernel, {{&stored, every.data(), every.size()}}, double_precision);
                for (const std::size_t count : {1, 15, 16, 17, 33, 49, 290}) {
                    const std::string text = describe(kind, kernel, double_precision, count);
                    const Order order = random_order(random, data.count, count);
                    const PackedExamples packed({&stored, order.data(), count}, encoding);
                    check_layout(kind, kernel, packed.view(), text.c_str());
                    const Case c{data, kernel, order, packed, text.c_str()};
                    if (count == 290) {
                        check_threads(random, c);
                        continue;
                    }
                    const std::vector<Doubles> all = check_matrix(c);
                    check_places(random, c, all);
                    check_use(random, c, all);
                }
            }
        }
    }
}

// Products of roots, and powers by logarithms. In every layout k(x, x) = 1 (see check_matrix).
void test_exponents(Random& random) {
    std::vector<KernelFunction> powers;
    for (const double q : {0.01, 0.25, 0.3, 0.5, 0.9, 1.0}) powers.push_back(laplacian_power(q));
    for (const double q : {0.01, 0.25, 0.5, 0.75, 1.0, 1.1, 1.25, 1.5, 1.75, 1.99, 2.0}) {
        powers.push_back(exponential_power(q));
    }
    for (const Kind kind : kinds) {
        for (const bool double_precision : {false, true}) {
            Data data = make_data(random, kind, 40, double_precision);
            const Rows stored = kind == Kind::sparse ? data.sparse() : data.dense();
            const Order order = random_order(random, data.count, 40);
            const Selection some{&stored, order.data(), order.size()};
            for (const KernelFunction& kernel : powers) {
                const std::string text = describe(kind, kernel, double_precision, 40) + " to " +
                                         std::to_string(kernel.exponent);
                const Encoding encoding = choose_encoding(kernel, {some}, double_precision);
                CHECK(encoding.sparse == encoding.cancels, "%s", text.c_str());
                const PackedExamples packed(some, encoding);
                const auto rows = check_matrix({data, kernel, order, packed, text.c_str()});
                // the last power of each is another kernel
                KernelFunction same = kernel;
                if (kernel.exponent == 2.0) {
                    same.name = KernelName::rbf;
                } else if (kernel.exponent == 1.0 && kernel.name == KernelName::laplacian_power) {
                    same.name = KernelName::laplacian;
                } else {
                    continue;
                }
                const PackedView& view = packed.view();
                CHECK(compute(same, view, first_ones(40), view).rows == rows, "%s", text.c_str());
            }
        }
    }
}

// With one example every column is constant, so that distances have no inputs.
void test_one_example() {
    Data data(1, 5);
    add_constant(data, 3);
    const Rows stored = data.dense();
    const Order every{0};
    for (const KernelFunction& kernel : kernel_functions) {
        const Selection one{&stored, every.data(), 1};
        const PackedExamples packed(one, choose_encoding(kernel, {one}, std::nullopt));
        CHECK((packed.view().width == 0) == uses_distances(kernel), "%zu", packed.view().width);
        check_matrix({data, kernel, every, packed, "one example"});
    }
}

// Powers of every degree, including 0.
void test_degrees(Random& random) {
    Data data = make_data(random, Kind::numbers, 17, true);
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    for (int degree = 0; degree <= 9; ++degree) {
        const KernelFunction kernel{KernelName::poly, 0.25, -0.5, degree};
        const Selection all{&stored, every.data(), every.size()};
        const PackedExamples packed(all, choose_encoding(kernel, {all}, std::nullopt));
        check_matrix({data, kernel, every, packed, "poly"});
    }
}

// exp(-d^2) and the like down to 0, and tanh from -1 to 1
void test_far(bool double_precision) {
    Data data(200, 1);
    for (std::size_t l = 0; l < data.count; ++l) {
        data.at(l, 0) = static_cast<double>(l * l) / 1024.0;
    }
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    for (const KernelFunction& kernel :
         {KernelFunction{KernelName::rbf, 1.0, 0.0, 0},
          KernelFunction{KernelName::sigmoid, 1.0, -9.0, 0},
          KernelFunction{KernelName::exponential, 20.0, 0.0, 0},
          KernelFunction{KernelName::laplacian, 20.0, 0.0, 0},
          KernelFunction{KernelName::exponential_power, 1.0, 0.0, 0, 1.9}}) {
        const Selection all{&stored, every.data(), every.size()};
        const PackedExamples packed(all, choose_encoding(kernel, {all}, double_precision));
        for (const Doubles& row : check_matrix({data, kernel, every, packed, "far"})) {
            for (std::size_t b = 0; b < data.count; ++b) {
                CHECK(std::fabs(row[b]) <= 1.0, "%.17g", row[b]);
            }
        }
    }
}

// Distances that overflow or underflow: the kernel is (nearly) 0 or 1, and never NaN.
void test_extremes(bool double_precision) {
    const double large = double_precision ? 1e300 : 1e30, small = double_precision ? 1e-300 : 1e-30;
    Data data(4, 2);
    data.at(1, 0) = small;
    data.at(2, 1) = large;
    data.at(3, 0) = -large;
    const Rows stored = data.dense();
    const Order every = first_ones(data.count);
    const Selection all{&stored, every.data(), every.size()};
    for (const KernelFunction& kernel :
         {rbf, exponential, laplacian, exponential_power(0.5), exponential_power(1.3),
          exponential_power(2.0), laplacian_power(0.25), laplacian_power(0.6)}) {
        const PackedExamples packed(all, choose_encoding(kernel, {all}, double_precision));
        check_matrix({data, kernel, every, packed, "extremes"});
    }
}

// A column of 0 and a large number: the norms of sparse rows cancel, and distances do not show it.
void test_cancelled(Random& random) {
    for (const bool double_precision : {false, true}) {
        Data data = make_data(random, Kind::sparse, 90, false);
        for (double& value : data.x) value = std::round(8.0 * value) / 8.0;  // exact as floats
        for (std::size_t l = 0; l < data.count; l += 2)
            data.at(l, 7) = double_precision ? 1e8 : 100.0;
        const Rows stored = data.sparse();
        const Order every = first_ones(data.count);
        const Selection all{&stored, every.data(), every.size()};
        for (const KernelFunction& kernel :
             {rbf, exponential, exponential_power(0.25), laplacian, laplacian_power(0.5)}) {
            Encoding encoding = choose_encoding(kernel, {all}, true);
            if (kernel.name == KernelName::rbf) {
                CHECK(encoding.sparse && encoding.cancels == double_precision,
                      "100 does not matter in double");
            } else {
                CHECK(encoding.sparse && encoding.cancels, "a power magnifies what cancels");
            }
            encoding.double_precision = double_precision;
            encoding.cancels = true;
            const PackedExamples packed(all, encoding);
            const std::string text = describe(Kind::sparse, kernel, double_precision, 90);
            const Case c{data, kernel, every, packed, text.c_str()};
            const std::vector<Doubles> rows = check_matrix(c);
            for (std::size_t l = 0; l < data.count; ++l) CHECK(rows[l][l] == 1.0, "%zu", l);
            check_places(random, c, rows);
        }
    }
}

// Products of x - c, from sparse rows that hold x.
void test_centre(Random& random) {
    for (const Kind kind : {Kind::sparse, Kind::numbers}) {
        Data data = make_data(random, kind, 50, true);
        const Doubles centre = random.vector(data.width);
        Data centred(data.count, data.width);
        for (std::size_t l = 0; l < data.count; ++l) {
            for (std::size_t j = 0; j < data.width; ++j) {
                centred.at(l, j) = data.at(l, j) - centre[j];
            }
        }
        const Rows stored = data.sparse();
        const Order every = first_ones(data.count);
        const Selection all{&stored, every.data(), every.size()};
        for (const KernelFunction& kernel : kernel_functions) {
            const Encoding encoding = choose_encoding(kernel, {all}, true, centre);
            CHECK(encoding.sparse == (kind == Kind::sparse), "the centre does not fill rows");
            const PackedExamples packed(all, encoding);
            check_matrix({centred, kernel, every, packed, "centre"});
        }
    }
}

void test_known_rows(Random& random) {
    const auto run = [&]<class T>(T) {
        for (const std::size_t blocks : {1, 3, 131}) {
            for (const std::size_t n : {0, 1, 7, 8, 9, 20}) {
                const std::size_t count = blocks * kBlock;
                const std::size_t first = blocks > 1, last = blocks > 3 ? blocks - 1 : blocks;
                std::vector<std::vector<T>> rows(n, std::vector<T>(count));
                std::vector<const void*> known;
                for (auto& row : rows) {
                    for (T& value : row) value = static_cast<T>(random.centred());
                    known.push_back(row.data());
                }
                const Doubles coef = random.vector(n), before = random.vector(count);
                Doubles f = before, again = before;
                constexpr bool double_precision = sizeof(T) == 8;
                loops().add_known_rows(
                    {known.data(), coef.data(), n, first, last, f.data(), double_precision, 1});
                loops().add_known_rows(
                    {known.data(), coef.data(), n, first, last, again.data(), double_precision, 2});
                CHECK(f == again, "%zu rows, %zu blocks", n, blocks);
                for (std::size_t b = 0; b < count; ++b) {
                    double sum = before[b];
                    const bool inside = first <= b / kBlock && b / kBlock < last;
                    for (std::size_t r = 0; inside && r < n; ++r) sum += coef[r] * rows[r][b];
                    CHECK(std::fabs(f[b] - sum) <= (inside ? 1e-13 : 0.0), "%zu rows at %zu", n, b);
                }
            }
        }
    };
    run(float{});
    run(double{});
}

void test_kernel_rows(Random& random) {
    test_rows(random);
    test_exponents(random);
    test_one_example();
    test_degrees(random);
    for (const bool double_precision : {false, true}) {
        test_far(double_precision);
        test_extremes(double_precision);
    }
    test_cancelled(random);
    test_centre(random);
    test_known_rows(random);
}

}  // namespace

void test_encoding(Random& random);
void test_kernel_gradients(Random& random);
void test_kernel_matrix(Random& random);
void test_kernel_source(Random& random);

}  // namespace widemargin::tests

int main() {
    using namespace widemargin::tests;
    return run_tests(1, {test_kernel_rows, test_encoding, test_kernel_matrix, test_kernel_source,
                         test_kernel_gradients});
}
