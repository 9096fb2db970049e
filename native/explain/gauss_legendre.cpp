#include "explain/gauss_legendre.hpp"

#include <cmath>

namespace spinney {

namespace {

/// cos(x) for 0 ≤ x ≤ π/2 by its Taylor series.
double cosine(double x) {
    double sum = 1, term = 1;
    for (int k = 1; k <= 12; ++k) {
        term *= -x * x / ((2 * k - 1) * (2.0 * k));
        sum += term;
    }
    return sum;
}

/// The Legendre polynomial of degree n and its derivative at x.
void legendre(Size n, double x, double& value, double& derivative) {
    double before = 1;
    value = x;
    for (Size k = 2; k <= n; ++k) {
        const auto m = static_cast<double>(k);
        const double next = ((2 * m - 1) * x * value - (m - 1) * before) / m;
        before = value;
        value = next;
    }
    derivative = static_cast<double>(n) * (x * value - before) / (x * x - 1);
}

}  // namespace

Quadrature gauss_legendre(Size n) {
    constexpr double pi = 3.14159265358979323846;
    Quadrature rule{std::vector<double>(n), std::vector<double>(n)};
    for (Size i = 0; i < (n + 1) / 2; ++i) {
        // Newton's method from the asymptotic root; the roots are symmetric around 0.
        double x = 2 * i + 1 == n
                       ? 0
                       : cosine(pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
        double value, derivative;
        for (int step = 0; step < 6 && x != 0; ++step) {
            legendre(n, x, value, derivative);
            x -= value / derivative;
        }
        legendre(n, x, value, derivative);
        const double weight = 1 / ((1 - x * x) * derivative * derivative);
        rule.points[i] = (1 - x) / 2;
        rule.points[n - 1 - i] = (1 + x) / 2;
        rule.weights[i] = rule.weights[n - 1 - i] = weight;
    }
    return rule;
}

}  // namespace spinney
