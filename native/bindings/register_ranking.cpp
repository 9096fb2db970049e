// Registers QuerySet: gradients of ranking losses and ranking metrics of rows grouped by query.
#include <limits>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/options.hpp"
#include "bindings/register.hpp"
#include "boost/ranking.hpp"

namespace spinney {
namespace {

/// A query set and the number of rows of its table.
class BoundQueries {
  public:
    BoundQueries(const Vector<std::int64_t>& rows, const Vector<std::int64_t>& begin,
                 const Vector<double>& gain)
        : n_rows_(gain.size()),
          queries_(checked_rows(rows, n_rows_), checked_begin(begin, rows.size()), gain.data()) {}

    nb::tuple gradients(const std::string& loss, double sigma, Size n_top, bool normalize,
                        const Vector<double>& scores, std::uint64_t address, int n_threads) const {
        check(scores, n_threads);
        const RankingLoss kind{parse_spelling<RankingLossName>(nb::cast(loss)), sigma, n_top, normalize};
        NewArray<double> gradient({n_rows_}), hessian({n_rows_});
        std::fill_n(gradient.data, n_rows_, 0.0);
        std::fill_n(hessian.data, n_rows_, 0.0);
        run_interruptible([&](Interrupt& interrupt) {
            queries_.compute_gradients(gradient.data, hessian.data, kind, scores.data(), address, n_threads,
                                       interrupt);
        });
        return nb::make_tuple(gradient.array, hessian.array);
    }

    auto ndcg(const Vector<double>& scores, Size k, int n_threads) const {
        return metric(&QuerySet::compute_ndcg, scores, k, n_threads);
    }

    auto average_precision(const Vector<double>& scores, Size k, int n_threads) const {
        return metric(&QuerySet::compute_average_precision, scores, k, n_threads);
    }

  private:
    using Metric = void (QuerySet::*)(double*, const double*, Size, int, Interrupt&) const;

    nb::ndarray<nb::numpy, double> metric(Metric compute, const Vector<double>& scores, Size k,
                                          int n_threads) const {
        check(scores, n_threads);
        NewArray<double> out({queries_.n_queries()});
        run_interruptible([&](Interrupt& interrupt) {
            (queries_.*compute)(out.data, scores.data(), k, n_threads, interrupt);
        });
        return out.array;
    }

    void check(const Vector<double>& scores, int n_threads) const {
        if (scores.size() != n_rows_) throw nb::value_error("there must be one score for each row");
        if (n_threads < 1) throw nb::value_error("n_threads must be positive");
    }

    static std::vector<std::uint32_t> checked_rows(const Vector<std::int64_t>& rows, Size n_rows) {
        if (n_rows > std::numeric_limits<std::uint32_t>::max())
            throw nb::value_error("more than 2^32 - 1 rows");
        std::vector<std::uint32_t> out(rows.size());
        for (Size i = 0; i < out.size(); ++i) {
            const std::int64_t row = rows.data()[i];
            if (row < 0 || static_cast<Size>(row) >= n_rows) throw nb::value_error("a row does not exist");
            out[i] = static_cast<std::uint32_t>(row);
        }
        return out;
    }

    static std::vector<Size> checked_begin(const Vector<std::int64_t>& begin, Size n_listed) {
        if (begin.size() == 0 || begin.data()[0] != 0 ||
            begin.data()[begin.size() - 1] != static_cast<std::int64_t>(n_listed))
            throw nb::value_error("begin must go from 0 to the number of rows listed");
        std::vector<Size> out(begin.size());
        for (Size i = 0; i < out.size(); ++i) {
            if (i > 0 && begin.data()[i] < begin.data()[i - 1]) throw nb::value_error("begin must ascend");
            out[i] = static_cast<Size>(begin.data()[i]);
        }
        return out;
    }

    Size n_rows_;
    QuerySet queries_;
};

}  // namespace
}  // namespace spinney

void register_ranking(nb::module_& m) {
    using Bound = spinney::BoundQueries;
    nb::class_<Bound>(m, "QuerySet", "Rows grouped by query, with their gains.")
        .def(nb::init<const Vector<std::int64_t>&, const Vector<std::int64_t>&, const Vector<double>&>(),
             "rows"_a, "begin"_a, "gain"_a)
        .def("gradients", &Bound::gradients, "loss"_a, "sigma"_a, "n_top"_a, "normalize"_a, "scores"_a,
             "address"_a, "n_threads"_a,
             "Give gradients and hessians (n_rows,) of a ranking loss; 0 for rows in no query.")
        .def("ndcg", &Bound::ndcg, "scores"_a, "k"_a, "n_threads"_a, "Give the NDCG of each query.")
        .def("average_precision", &Bound::average_precision, "scores"_a, "k"_a, "n_threads"_a,
             "Give the average precision of each query.");
}
