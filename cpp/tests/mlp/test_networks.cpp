// Multi-layer perceptrons: outputs and gradients against plain loops, one example per step against
// batches of one, several threads against one.
#include "tests/mlp/network_problems.hpp"

namespace widemargin::tests {
namespace {

// One non-zero input per example, the same in all layouts: sparse enough for the sparse first
// layer.
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

template <class T>
void check_problem(const Loops& table, const Problem& problem, const Net<T>& start) {
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
    const NetworkPass single = problem.pass(online, UpdateRule::sgd, 1, 1, 1);
    const Tally a = table.network_online(rows, online.view(), s, single);
    const Tally b =
        table.network_batches(rows, one.view(), s, problem.pass(one, UpdateRule::sgd, 1, 1, 1));
    CHECK(near_all(online.theta, one.theta) && near(a.criterion, b.criterion, 1e-3),
          "%s one example per step, transfer %d", table.isa, static_cast<int>(start.transfer));
    for (UpdateRule rule : {UpdateRule::sgd, UpdateRule::adam, UpdateRule::adamw}) {
        Net<T> whole = start, alone = start, team = start;
        table.network_batches(rows, whole.view(), s, problem.pass(whole, rule, 53, 1, 1));
        table.network_batches(rows, alone.view(), s, problem.pass(alone, rule, 53, 4, 1));
        table.network_batches(rows, team.view(), s, problem.pass(team, rule, 53, 4, 3));
        CHECK(near_all(whole.theta, alone.theta), "%s slices", table.isa);
        CHECK(alone.theta == team.theta, "%s threads", table.isa);
        CHECK(alone.theta != start.theta, "%s nothing learnt", table.isa);
    }
}

// A step over all examples follows the numerical gradient of the mean criterion.
void check_gradient(const Loops& table, const Problem& problem, const Net<double>& start) {
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
    NetworkPass pass = problem.pass(net, UpdateRule::sgd, problem.order.size(), 1, 1);
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
    for (const Loops* table : tables) {
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
