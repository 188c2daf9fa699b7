// Shared by the tests of networks: networks as plain loops, and problems for them.
#pragma once

#include <cmath>
#include <vector>

#include "tests/linear/linear_problems.hpp"

namespace widemargin::tests {

// Fortran's matrix product by plain loops: C = alpha op(A) op(B) + beta C
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

inline double plain_transfer(Transfer h, double z) {
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

struct Problem {
    const Inputs& inputs;
    Doubles y;
    bool codes;
    Criterion q;
    Order order;
    std::vector<float> experts = {};  // of a mixture
    std::size_t columns = 0;
    Criteria mixture = Criteria::mixture_mse;

    Standardization statistics() const {
        return inputs.standardized ? Standardization{inputs.mean.data(), inputs.scale.data()}
                                   : Standardization{};
    }
    template <class T>
    NetworkPass pass(Net<T>& net, UpdateRule rule, std::size_t batch, std::size_t slices,
                     int threads) const {
        const bool margin = q.name == CriterionName::margin;
        const Criteria criteria = columns  ? mixture
                                  : !codes ? Criteria::of_outputs
                                  : margin ? Criteria::margin_to_best
                                           : Criteria::softmax;
        return {order.data(),
                order.size(),
                batch,
                {y.data(), codes, nullptr, nullptr, criteria, &q,
                 columns ? experts.data() : nullptr, columns},
                {rule, 0.05, 0.0, false, 0.9, 0.99, 1e-8, 0.02, 0.03, net.first.data(),
                 net.second.data(), 0},
                0.0,  // dropout
                0,
                slices,
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

}  // namespace widemargin::tests
