// Multi-layer perceptrons: outputs and gradients against plain loops, one example a step against
// batches of one, several threads against one.
#include <cmath>
#include <vector>

#include "linear_problems.hpp"

namespace widemargin::tests {
namespace {

// Fortran's matrix product, as plain as it can be: C = alpha op(A) op(B) + beta C
template <class T>
void plain_gemm(const char* ta, const char* tb, const int* m, const int* n, const int* k,
                const T* alpha, const T* a, const int* lda, const T* b, const int* ldb,
                const T* beta, T* c, const int* ldc) {
    for (int i = 0; i < *m; ++i) {
        for (int j = 0; j < *n; ++j) {
            double sum = 0.0;
            for (int p = 0; p < *k; ++p) {
                sum += double{*ta == 'T' ? a[p + i * *lda] : a[i + p * *lda]} *
                       double{*tb == 'T' ? b[j + p * *ldb] : b[p + j * *ldb]};
            }
            T& out = c[i + j * *ldc];
            out = static_cast<T>(*alpha * sum) + (*beta == T{0} ? T{0} : *beta * out);
        }
    }
}

template <class T>
struct Net {
    std::vector<std::int64_t> units;
    Transfer transfer;
    std::vector<T> theta, first, second;

    Net(Random& random, std::vector<std::int64_t> sizes, Transfer h) : units(sizes), transfer(h) {
        std::size_t count = 0;
        for (std::size_t k = 1; k < units.size(); ++k) {
            count += static_cast<std::size_t>((units[k - 1] + 1) * units[k]);
        }
        const Doubles values = random.vector(count);
        theta.assign(values.begin(), values.end());
        first.assign(count, T{0});
        second.assign(count, T{0});
    }

    Network view() {
        return {sizeof(T) == sizeof(double),
                units.size() - 1,
                units.data(),
                transfer,
                theta.data(),
                reinterpret_cast<const void*>(&plain_gemm<T>)};
    }
};

double plain_transfer(Transfer h, double z) {
    switch (h) {
        case Transfer::identity: return z;
        case Transfer::sigmoid: return 1.0 / (1.0 + std::exp(-z));
        case Transfer::tanh: return std::tanh(z);
        case Transfer::slanted_tanh: return std::tanh(z) + kSlant * z;
        case Transfer::hard_tanh: return std::fmin(1.0, std::fmax(-1.0, z));
        case Transfer::relu: break;
    }
    return std::fmax(z, 0.0);
}

template <class T>
Doubles plain_outputs(const Net<T>& net, const Inputs& inputs, std::size_t l) {
    Doubles h(inputs.data.width);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] = inputs.at(l, j);
    std::size_t at = 0;
    for (std::size_t k = 1; k < net.units.size(); ++k) {
        const auto n = static_cast<std::size_t>(net.units[k]);
        Doubles z(n);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < h.size(); ++j) z[i] += h[j] * net.theta[at + j * n + i];
            z[i] += net.theta[at + h.size() * n + i];
            if (k + 1 < net.units.size()) z[i] = plain_transfer(net.transfer, z[i]);
        }
        at += (h.size() + 1) * n;
        h = z;
    }
    return h;
}

// One non-zero input an example, the same in all layouts: sparse enough for the sparse first layer.
Data very_sparse(Random& random, Layout layout, std::size_t count, std::size_t width) {
    Data data(random, layout, 0, width);
    data.count = count;
    data.x.assign(count * width, 0.0);
    for (std::size_t l = 0; l < count; ++l) {
        const std::size_t j = random.below(width);
        data.x[l * width + j] = static_cast<float>(random.centred());
        data.columns.push_back(static_cast<std::int32_t>(j));
        data.stored64.push_back(data.x[l * width + j]);
        data.starts.push_back(static_cast<std::int64_t>(l + 1));
    }
    if (is_dense(layout)) data.stored64 = data.x;
    data.stored32 = std::vector<float>(data.stored64.begin(), data.stored64.end());
    return data;
}

constexpr Transfer transfers[] = {Transfer::identity,     Transfer::sigmoid,   Transfer::tanh,
                                  Transfer::slanted_tanh, Transfer::hard_tanh, Transfer::relu};

struct Problem {
    const Inputs& inputs;
    Doubles y;
    bool codes;
    Criterion q;
    Order order;

    Standardization statistics() const {
        return inputs.standardized ? Standardization{inputs.mean.data(), inputs.scale.data()}
                                   : Standardization{};
    }
    template <class T>
    NetworkPass pass(Net<T>& net, UpdateRule rule, std::size_t batch, int threads) const {
        const bool margin = q.name == CriterionName::margin;
        const Criteria criteria = !codes   ? Criteria::of_outputs
                                  : margin ? Criteria::margin_to_best
                                           : Criteria::softmax;
        return {order.data(),
                order.size(),
                batch,
                {y.data(), codes, nullptr, nullptr, criteria, &q},
                {rule, 0.05, 0.0, false, 0.9, 0.99, 1e-8, 0.02, 0.03, net.first.data(),
                 net.second.data(), 0},
                threads};
    }
};

template <class T>
bool near_all(const std::vector<T>& a, const std::vector<T>& b) {
    bool all = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
        all &= near(a[i], b[i], sizeof(T) == sizeof(double) ? 1e-9 : 2e-4);
    }
    return all;
}

template <class T>
void check_problem(const Kernels& table, const Problem& problem, const Net<T>& start) {
    const Rows rows = problem.inputs.data.rows();
    const Standardization s = problem.statistics();
    const auto outputs = static_cast<std::size_t>(start.units.back());
    Net<T> net = start;
    Doubles f(rows.count * outputs);
    for (int threads : {1, 3}) {
        table.network_outputs(rows, net.view(), s, f.data(), threads);
        for (std::size_t l = 0; l < rows.count; ++l) {
            const Doubles expected = plain_outputs(start, problem.inputs, l);
            for (std::size_t k = 0; k < outputs; ++k) {
                CHECK(near(f[l * outputs + k], expected[k], sizeof(T) == 8 ? 1e-10 : 1e-4),
                      "%s transfer %d output %zu", table.isa, static_cast<int>(start.transfer), k);
            }
        }
    }
    Net<T> online = start, one = start;
    const NetworkPass single = problem.pass(online, UpdateRule::sgd, 1, 1);
    const Tally a = table.network_online(rows, online.view(), s, single);
    const Tally b =
        table.network_batches(rows, one.view(), s, problem.pass(one, UpdateRule::sgd, 1, 1));
    CHECK(near_all(online.theta, one.theta) && near(a.criterion, b.criterion, 1e-3),
          "%s one example a step, transfer %d", table.isa, static_cast<int>(start.transfer));
    for (UpdateRule rule : {UpdateRule::sgd, UpdateRule::adam, UpdateRule::adamw}) {
        Net<T> alone = start, team = start;
        table.network_batches(rows, alone.view(), s, problem.pass(alone, rule, 53, 1));
        table.network_batches(rows, team.view(), s, problem.pass(team, rule, 53, 3));
        CHECK(near_all(alone.theta, team.theta), "%s threads", table.isa);
        CHECK(alone.theta != start.theta, "%s nothing learnt", table.isa);
    }
}

// A step of all examples is the numerical gradient of the mean criterion with its decays.
void check_gradient(const Kernels& table, const Problem& problem, const Net<double>& start) {
    const Rows rows = problem.inputs.data.rows();
    const auto objective = [&](const Net<double>& net) {
        double sum = 0.0;
        for (auto l : problem.order) {
            const auto at = static_cast<std::size_t>(l);
            sum += plain_value(problem.q, problem.y[at], plain_outputs(net, problem.inputs, at)[0]);
        }
        return sum / static_cast<double>(problem.order.size());
    };
    Net<double> net = start;
    NetworkPass pass = problem.pass(net, UpdateRule::sgd, problem.order.size(), 1);
    pass.step.mu = pass.step.nu = 0.0;
    table.network_batches(rows, net.view(), problem.statistics(), pass);
    for (std::size_t i = 0; i < start.theta.size(); ++i) {
        Net<double> above = start, below = start;
        above.theta[i] += 1e-6;
        below.theta[i] -= 1e-6;
        const double slope = (objective(above) - objective(below)) / 2e-6;
        CHECK(near((start.theta[i] - net.theta[i]) / pass.step.rate, slope, 1e-6),
              "%s parameter %zu", table.isa, i);
    }
}

}  // namespace

void test_networks(const Tables& tables) {
    Random random(11);
    for (const Kernels* table : tables) {
        for (Transfer transfer : transfers) {
            for (Layout layout : layouts) {
                for (bool standardized : {false, true}) {
                    const bool codes = random.below(2) == 0, sparse = random.below(2) == 0;
                    const Data data =
                        sparse ? very_sparse(random, layout, 70, 19) : Data(random, layout, 70, 5);
                    const Inputs inputs(random, data, standardized);
                    Doubles y;
                    for (std::size_t l = 0; l < data.count; ++l) {
                        const auto code = static_cast<double>(random.below(codes ? 3 : 2));
                        y.push_back(codes ? code : 2.0 * code - 1.0);
                    }
                    const CriterionName name =
                        random.below(2) == 0 ? CriterionName::cross_entropy : CriterionName::margin;
                    const Problem problem{
                        inputs, y, codes, {name, 0.7}, random_order(random, data.count, 160)};
                    const auto width = static_cast<std::int64_t>(data.width);
                    const std::vector<std::int64_t> units{width, 9, 4, codes ? 3 : 1};
                    check_problem(*table, problem, Net<double>(random, units, transfer));
                    check_problem(*table, problem, Net<float>(random, units, transfer));
                    const Problem smooth{inputs,
                                         Doubles(data.count, 1.0),
                                         false,
                                         {CriterionName::cross_entropy, 0.0},
                                         problem.order};
                    if (transfer == Transfer::tanh || transfer == Transfer::slanted_tanh) {
                        check_gradient(*table, smooth,
                                       Net<double>(random, {width, 3, 2, 1}, transfer));
                    }
                }
            }
        }
    }
}

}  // namespace widemargin::tests
