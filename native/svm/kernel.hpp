// Kernel functions, and rows of the kernel matrix over rows of features.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/thread_pool.hpp"
#include "core/types.hpp"
#include "online/epoch.hpp"

namespace spinney {

enum class KernelType : std::uint8_t { linear, polynomial, gaussian, laplacian, sigmoid, precomputed };

/// xᵀz, (γ xᵀz + c)^degree, exp(−γ ‖x − z‖²), exp(−γ ‖x − z‖), tanh(γ xᵀz + c), or the value itself.
struct Kernel {
    KernelType type = KernelType::gaussian;
    double gamma = 1.0, coef0 = 0.0;
    int degree = 3;
};

/// The kernel matrix of some rows, whose order a solver may change.
class KernelMatrix {
  public:
    virtual ~KernelMatrix() = default;

    static constexpr Size kBlock = 4;

    /// K(row at `position`, rows at begin..end-1).  out (end - begin,)
    virtual void row(float* out, Size position, Size begin, Size end, int n_threads) const = 0;

    /// kBlock rows at once, 0..end-1. All of them together read the features once.
    virtual void rows(float* const* out, const Size* positions, Size end, int n_threads) const {
        for (Size q = 0; q < kBlock; ++q) row(out[q], positions[q], 0, end, n_threads);
    }

    /// Whether several rows at once are faster than one by one.
    virtual bool blocks() const { return false; }

    /// K(x, x) of the row at a position.
    virtual double diagonal(Size position) const = 0;

    /// Exchange the rows at two positions.
    virtual void swap(Size a, Size b) = 0;
};

std::unique_ptr<KernelMatrix> make_kernel_matrix(const FeatureRows& rows, const Kernel& kernel);

/// A sum of kernel values over support vectors begin..end-1, added to one output.
struct KernelTerm {
    std::int32_t output;
    std::int64_t begin, end, first_coef;
};

/// out[r, o] = intercept[o] + Σ coef · K(row r, support vector).  out (n_rows, n_outputs); terms are added in
/// their order. For a precomputed kernel, rows (n_rows, n_support) are the kernel values themselves.
void kernel_sums(std::span<double> out, const FeatureRows& rows, const FeatureRows& support,
                 const Kernel& kernel, std::span<const KernelTerm> terms, std::span<const double> coef,
                 std::span<const double> intercept, int n_threads, Interrupt& interrupt);

}  // namespace spinney
