// Networks that are gaters of a mixture: criteria and slopes against plain loops.
#include "tests/mlp/network_problems.hpp"

namespace widemargin::tests {
namespace {

// m of the scores z of example l
Doubles plain_mixture(const Problem& problem, const Doubles& z, std::size_t l) {
    double sum = 0.0;
    Doubles m(problem.columns);
    for (std::size_t k = 0; k < z.size(); ++k) {
        sum += std::exp(z[k]);
        for (std::size_t c = 0; c < m.size(); ++c) {
            m[c] +=
                std::exp(z[k]) * double{problem.experts[(l * z.size() + k) * problem.columns + c]};
        }
    }
    for (double& value : m) value /= sum;
    return m;
}

double plain_value(const Problem& problem, const Doubles& m, std::size_t l) {
    if (problem.mixture == Criteria::mixture_likelihood) return -std::log(m[0]);
    double sum = 0.0;
    for (std::size_t c = 0; c < m.size(); ++c) {
        const bool plain = problem.mixture == Criteria::mixture_mse;
        const double miss = problem.y[l * m.size() + c] - (plain ? m[c] : std::tanh(m[c]));
        sum += 0.5 * miss * miss;
    }
    return sum;
}

bool plain_error(const Problem& problem, const Doubles& m, std::size_t l) {
    if (problem.mixture == Criteria::mixture_likelihood) return !(m[0] > 0.5);
    const double* y = problem.y.data() + l * m.size();
    if (m.size() == 1) return (m[0] > 0.0) != (y[0] > 0.0);
    return std::max_element(m.begin(), m.end()) - m.begin() !=
           std::max_element(y, y + m.size()) - y;
}

// The sums over the order: criterion and errors.
std::pair<double, double> plain_sums(const Problem& problem, const Net<double>& net) {
    double sum = 0.0, wrong = 0.0;
    for (auto at : problem.order) {
        const auto l = static_cast<std::size_t>(at);
        const Doubles m = plain_mixture(problem, plain_outputs(net, problem.inputs, l), l);
        sum += plain_value(problem, m, l);
        wrong += plain_error(problem, m, l);
    }
    return {sum, wrong};
}

void check_slopes(const Loops& table, const Problem& problem, const Net<double>& start) {
    const Rows rows = problem.inputs.data.rows();
    Net<double> net = start;
    NetworkPass pass = problem.pass(net, UpdateRule::sgd, problem.order.size(), 1, 1);
    pass.step.mu = pass.step.nu = 0.0;
    const Tally tally = table.network_batches(rows, net.view(), problem.statistics(), pass);
    const auto [value, wrong] = plain_sums(problem, start);
    CHECK(near(tally.criterion, value, 1e-9) && tally.errors == wrong, "%s sums", table.isa);
    const auto count = static_cast<double>(problem.order.size());
    for (std::size_t i = 0; i < start.theta.size(); ++i) {
        Net<double> above = start, below = start;
        above.theta[i] += 1e-6;
        below.theta[i] -= 1e-6;
        const double slope =
            (plain_sums(problem, above).first - plain_sums(problem, below).first) / 2e-6 / count;
        CHECK(near((start.theta[i] - net.theta[i]) / pass.step.rate, slope, 1e-6),
              "%s parameter %zu", table.isa, i);
    }
}

template <class T>
void check_ways(const Loops& table, const Problem& problem, const Net<T>& start) {
    const Rows rows = problem.inputs.data.rows();
    const Standardization s = problem.statistics();
    Net<T> online = start, one = start, alone = start, team = start;
    table.network_online(rows, online.view(), s, problem.pass(online, UpdateRule::sgd, 1, 1, 1));
    table.network_batches(rows, one.view(), s, problem.pass(one, UpdateRule::sgd, 1, 1, 1));
    CHECK(near_all(online.theta, one.theta), "%s one example a step", table.isa);
    table.network_batches(rows, alone.view(), s, problem.pass(alone, UpdateRule::adam, 53, 4, 1));
    table.network_batches(rows, team.view(), s, problem.pass(team, UpdateRule::adam, 53, 4, 3));
    CHECK(alone.theta == team.theta, "%s threads", table.isa);
}

void check_not_a_number(const Loops& table, const Problem& problem, Net<float> net) {
    net.theta.back() = std::nanf("");
    const Tally tally =
        table.network_batches(problem.inputs.data.rows(), net.view(), problem.statistics(),
                              problem.pass(net, UpdateRule::sgd, 53, 1, 1));
    CHECK(std::isnan(tally.criterion), "%s a score that is no number is lost", table.isa);
}

// Likelihoods of nothing count as the smallest one, which has no slope.
void check_likelihoods_of_nothing(const Loops& table, Problem problem, Net<double> net) {
    for (float& value : problem.experts) value *= 9e-38f;
    std::fill(net.theta.begin(), net.theta.end(), 0.0);
    NetworkPass pass = problem.pass(net, UpdateRule::sgd, problem.order.size(), 1, 1);
    const Tally tally =
        table.network_batches(problem.inputs.data.rows(), net.view(), problem.statistics(), pass);
    const auto count = static_cast<double>(problem.order.size());
    CHECK(near(tally.criterion, -std::log(1e-37) * count, 1e-12), "%s -log of nothing", table.isa);
    CHECK(std::all_of(net.theta.begin(), net.theta.end(), [](double w) { return w == 0.0; }),
          "%s slope of nothing", table.isa);
}

}  // namespace

void test_mixture_criteria(const Tables& tables) {
    Random random(29);
    const Data data(random, Layout::dense32, 70, 5);
    const Inputs inputs(random, data, true);
    for (Criteria mixture :
         {Criteria::mixture_tanh_mse, Criteria::mixture_mse, Criteria::mixture_likelihood}) {
        const bool likelihood = mixture == Criteria::mixture_likelihood;
        for (std::size_t columns : {std::size_t{1}, std::size_t{3}}) {
            if (likelihood && columns > 1) continue;
            for (std::int64_t experts : {1, 2, 9, 37}) {
                Doubles y;
                std::vector<float> said;
                for (std::size_t i = 0; i < data.count * columns; ++i) {
                    y.push_back(random.below(2) == 0 ? -1.0 : 1.0);
                }
                for (std::size_t i = 0; i < y.size() * static_cast<std::size_t>(experts); ++i) {
                    const auto value = static_cast<float>(random.centred());
                    said.push_back(likelihood ? std::fabs(value) : 2.0f * value);
                }
                const Problem problem{inputs,
                                      y,
                                      false,
                                      {CriterionName::mse, 0.0},
                                      random_order(random, data.count, 160),
                                      said,
                                      columns,
                                      mixture};
                const std::vector<std::int64_t> units{5, 3, experts};
                for (const Loops* table : tables) {
                    check_slopes(*table, problem, Net<double>(random, units, Transfer::tanh));
                    check_ways(*table, problem, Net<double>(random, units, Transfer::tanh));
                    check_ways(*table, problem, Net<float>(random, units, Transfer::relu));
                    check_not_a_number(*table, problem, Net<float>(random, units, Transfer::tanh));
                    if (!likelihood) continue;
                    check_likelihoods_of_nothing(*table, problem,
                                                 Net<double>(random, units, Transfer::tanh));
                }
            }
        }
    }
}

}  // namespace widemargin::tests
