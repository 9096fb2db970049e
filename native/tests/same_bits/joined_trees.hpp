// Grown trees joined as the predictor reads them.
#pragma once

#include <vector>

#include "grow/flat_tree.hpp"
#include "predict/predictor.hpp"

namespace same_bits {

using namespace spinney;

class JoinedTrees {
  public:
    JoinedTrees(const std::vector<FlatTree>& trees, Size n_features) : n_features_(n_features) {
        for (const FlatTree& tree : trees) {
            append(kind_, tree.kind);
            append(feature_, tree.feature);
            append(threshold_, tree.threshold);
            append(missing_, tree.missing);
            append(value_, tree.value);
            append(weight_, tree.weight);
            for (Size node = 0; node < tree.kind.size(); ++node) add_pools(tree, node);
            tree_begin_.push_back(static_cast<std::int64_t>(kind_.size()));
            n_outputs_ = static_cast<Size>(tree.n_outputs);
            width_ = static_cast<Size>(tree.width);
        }
    }

    EnsembleView view() const {
        return {tree_begin_, kind_,       feature_,      threshold_,
                {},          missing_,    value_,        weight_,
                set_begin_,  set_bits_,   branch_begin_, branch_children_,
                branch_,     term_begin_, term_feature_, term_coefficient_,
                term_fill_,  n_features_, n_outputs_,    width_};
    }

  private:
    template <class T>
    static void append(std::vector<T>& to, const std::vector<T>& from) {
        to.insert(to.end(), from.begin(), from.end());
    }
    template <class T>
    static void append_range(std::vector<T>& to, const std::vector<T>& from,
                             const std::vector<std::int64_t>& begin, Size node) {
        to.insert(to.end(), from.begin() + begin[node], from.begin() + begin[node + 1]);
    }

    /// The category set, branches or terms of one node.
    void add_pools(const FlatTree& tree, Size node) {
        switch (static_cast<SplitKind>(tree.kind[node])) {
            case SplitKind::category_set:
                append_range(set_bits_, tree.set_bits, tree.set_begin, node);
                set_begin_.push_back(static_cast<std::int64_t>(set_bits_.size()));
                return;
            case SplitKind::multiway:
                append_range(branch_, tree.branch, tree.branch_begin, node);
                branch_begin_.push_back(static_cast<std::int64_t>(branch_.size()));
                branch_children_.push_back(tree.n_children[node]);
                return;
            case SplitKind::linear:
                append_range(term_feature_, tree.term_feature, tree.term_begin, node);
                append_range(term_coefficient_, tree.term_coefficient, tree.term_begin, node);
                append_range(term_fill_, tree.term_fill, tree.term_begin, node);
                term_begin_.push_back(static_cast<std::int64_t>(term_feature_.size()));
                return;
            default:
                return;
        }
    }

    std::vector<std::int64_t> tree_begin_{0}, set_begin_{0}, branch_begin_{0}, term_begin_{0};
    std::vector<std::uint8_t> kind_;
    std::vector<std::int32_t> feature_, missing_, branch_children_, branch_, term_feature_;
    std::vector<double> threshold_, value_, weight_, term_coefficient_, term_fill_;
    std::vector<std::uint64_t> set_bits_;
    Size n_features_, n_outputs_ = 1, width_ = 1;
};

}  // namespace same_bits
