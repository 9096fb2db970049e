// Ranking: gradients of LambdaMART and other ranking losses, and ranking metrics, query by query.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/fields.hpp"
#include "core/thread_pool.hpp"
#include "core/types.hpp"

namespace spinney {

enum class RankingLossName : std::uint8_t { ndcg, map, pairwise, xendcg };

template <>
inline constexpr std::array spellings<RankingLossName>{"ndcg", "map", "pairwise", "xendcg"};

struct RankingLoss {
    RankingLossName name = RankingLossName::ndcg;
    double sigma = 1;        // steepness of the logistic function of a score difference
    Size n_top = 0;          // pairs have a row among the first n_top; 0: all pairs
    bool normalize = false;  // divide by score differences and by the sum of the gradients, as LightGBM does
};

/// Rows by query, with their gains: numbers that grow with the relevance, 0 for rows that are not relevant.
class QuerySet {
  public:
    /// begin (n_queries + 1,): where each query begins in `rows`; gain (n_rows,): by row of the table
    QuerySet(std::vector<std::uint32_t> rows, std::vector<Size> begin, const double* gain);

    Size n_queries() const { return begin_.size() - 1; }

    /// Write gradients and hessians of the rows of all queries.  scores, gradient, hessian: by row of the
    /// table; address: of the random draws of XE-NDCG
    void compute_gradients(double* gradient, double* hessian, const RankingLoss& loss, const double* scores,
                           std::uint64_t address, int n_threads, Interrupt& interrupt) const;

    /// Normalized discounted cumulative gain of each query among its first k rows, 1 without relevant rows.
    /// Rows with equal scores have the mean of their gains.  out (n_queries,); k = 0: all rows
    void compute_ndcg(double* out, const double* scores, Size k, int n_threads, Interrupt& interrupt) const;

    /// Average precision, likewise; a row is relevant if its gain is above 0.
    void compute_average_precision(double* out, const double* scores, Size k, int n_threads,
                                   Interrupt& interrupt) const;

  private:
    struct Ranking;

    template <class F>
    void for_queries(int n_threads, Interrupt& interrupt, F&& f) const;
    void sort(Ranking& ranking, Size query, const double* scores) const;
    double ideal_dcg(Size query, Size k) const;
    template <class Delta>
    void add_pairs(Ranking& ranking, const RankingLoss& loss, bool by_distance, const Delta& delta) const;
    void add_xendcg(Ranking& ranking, Size query, std::uint64_t address) const;

    std::vector<std::uint32_t> rows_;
    std::vector<Size> begin_;
    std::vector<double> gain_, ideal_gain_;  // in the order of rows_; the second sorted in each query
    std::vector<double> discount_;           // 1 / log2(2 + position), for the longest query
};

}  // namespace spinney
