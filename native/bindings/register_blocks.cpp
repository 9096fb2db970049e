// Registers boosting on blocks of rows: the grower that asks for passes over the rows, and the passes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <tuple>

#include "bindings/arrays.hpp"
#include "bindings/grown_tree.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/options.hpp"
#include "bindings/register.hpp"
#include "boost/block_grower.hpp"
#include "boost/block_rows.hpp"
#include "boost/leaf_quantiles.hpp"
#include "core/chunk_sum.hpp"
#include "core/random.hpp"
#include "split/statistics.hpp"

namespace spinney {
namespace {

template <class T, int N>
using Writable = nb::ndarray<T, nb::ndim<N>, nb::device::cpu>;
using Strided = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Codes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Splits = std::tuple<Vector<std::int32_t>, Vector<std::int32_t>, Vector<std::uint32_t>,
                          Matrix<std::uint8_t>, Matrix<std::uint8_t>>;
using Scales = std::tuple<double, double, int, int>;
using Draw = std::tuple<bool, double, double, bool, bool, double, std::uint64_t, Scales, bool, double>;

using Parameters = std::vector<double>;

Loss to_loss(const std::string& name, const Parameters& parameters) {
    if (parameters.empty()) throw nb::value_error("a loss has one parameter, or one per score");
    return {parse_spelling<LossName>(nb::cast(name)), parameters};
}

BlockDraw to_draw(const Draw& d) {
    BlockDraw out;
    Scales scales;
    std::tie(out.all, out.rule.always, out.rule.probability, out.rule.proportional, out.rule.reweight,
             out.slope, out.address, scales, out.integer_weights, out.weight_unit) = d;
    PackedLayout& layout = out.scales.layout;
    std::tie(out.scales.gradient, out.scales.hessian, layout.weight_bits, layout.hessian_bits) = scales;
    if (layout.weight_bits < 0 || layout.hessian_bits < 1 || layout.gradient_bits() < 1)
        throw nb::value_error("gradients, hessians and weights must share 64 bits");
    return out;
}

std::vector<BlockSplit> to_splits(const Splits& arrays, Size n_features) {
    const auto& [nodes, first, feature, sides, builds] = arrays;
    const Size n = nodes.size();
    if (first.size() != n || feature.size() != n || sides.shape(0) != n || builds.shape(0) != n ||
        sides.shape(1) != kBundleBins || builds.shape(1) != 2)
        throw nb::value_error("splits differ in length");
    std::vector<BlockSplit> out(n);
    for (Size i = 0; i < n; ++i) {
        out[i].node = nodes.data()[i];
        out[i].first_child = first.data()[i];
        out[i].feature = feature.data()[i];
        if (out[i].node < 0 || out[i].node > 65535 || out[i].first_child < 0 || out[i].first_child > 65534 ||
            out[i].feature >= n_features)
            throw nb::value_error("a split has a node or a feature that does not exist");
        std::copy_n(sides.data() + i * kBundleBins, kBundleBins, out[i].goes_left.begin());
        for (Size side = 0; side < 2; ++side) out[i].builds[side] = builds.data()[2 * i + side] != 0;
    }
    return out;
}

/// A block of rows and the arrays that it borrows.
class BoundBlockRows {
  public:
    BoundBlockRows(Size first_row, Strided y, std::optional<Vector<double>> weights,
                   Writable<double, 2> scores, std::optional<Writable<double, 1>> log_sum_exp,
                   Writable<Stat, 1> packed, Writable<std::uint16_t, 1> nodes)
        : y_(y),
          weights_(weights),
          scores_(scores),
          log_sum_exp_(log_sum_exp),
          packed_(packed),
          nodes_(nodes) {
        const Size n = y.shape(1);
        if (first_row % kChunkRows != 0) throw nb::value_error("a block begins where a chunk does");
        if (scores.shape(1) != n || packed.size() != n || nodes.size() != n ||
            (weights && weights->size() != n) || (log_sum_exp && log_sum_exp->size() != n))
            throw nb::value_error("the arrays of a block differ in length");
        if (y.stride(1) != 1 || scores.stride(1) != 1 || packed.stride(0) != 1 || nodes.stride(0) != 1 ||
            (log_sum_exp && log_sum_exp->stride(0) != 1))
            throw nb::value_error("the rows of a block must lie one behind the other");
        if (y.shape(0) != 1 && y.shape(0) != scores.shape(0))
            throw nb::value_error("y must have one output, or one for each score");
        rows_.first_row = first_row;
        rows_.n_rows = n;
        rows_.y = y.data();
        rows_.n_outputs = y.shape(0);
        rows_.y_stride = static_cast<Size>(y.stride(0));
        rows_.weights = weights ? weights->data() : nullptr;
        for (Size k = 0; k < scores.shape(0); ++k)
            rows_.scores.push_back(scores.data() + static_cast<Size>(scores.stride(0)) * k);
        rows_.log_sum_exp = log_sum_exp ? log_sum_exp->data() : nullptr;
        rows_.packed = packed.data();
        rows_.nodes = nodes.data();
    }

    Size n_rows() const { return rows_.n_rows; }

    void set_gradients(const std::optional<Matrix<double>>& gradient,
                       const std::optional<Matrix<double>>& hessian) {
        for (const auto* one : {&gradient, &hessian})
            if (*one && ((*one)->shape(0) != rows_.n_rows || (*one)->shape(1) != rows_.scores.size()))
                throw nb::value_error("gradient and hessian must have the shape of the scores");
        gradient_ = gradient;
        hessian_ = hessian;
        rows_.gradient = gradient ? gradient->data() : nullptr;
        rows_.hessian = hessian ? hessian->data() : nullptr;
    }

    void update_log_sum_exp(int n_threads) {
        if (!rows_.log_sum_exp) throw nb::value_error("the block has no array for it");
        ReleaseInterpreterLock unlock;
        spinney::update_log_sum_exp(rows_, n_threads);
    }

    auto gradients(const std::string& loss, const Parameters& parameters, Size k, int n_threads) {
        NewArray<double> out({rows_.n_chunks(), 4});
        const BlockLoss of = checked(loss, parameters, k);
        std::vector<ChunkGradients> sums(rows_.n_chunks());
        {
            ReleaseInterpreterLock unlock;
            sum_gradients(sums, rows_, of, n_threads);
        }
        for (Size c = 0; c < sums.size(); ++c) {
            const double row[] = {sums[c].gradient, sums[c].hessian, sums[c].squares, sums[c].hessians};
            std::copy_n(row, 4, out.data + 4 * c);
        }
        return out.array;
    }

    auto importances(const std::string& loss, const Parameters& parameters, Size k, double slope) {
        NewArray<std::int64_t> out({ImportanceCounts::n_bins});
        std::fill_n(out.data, ImportanceCounts::n_bins, 0);
        const BlockLoss of = checked(loss, parameters, k);
        ReleaseInterpreterLock unlock;
        count_importances(out.data, rows_, of, slope);
        return out.array;
    }

    auto drawn(const std::string& loss, const Parameters& parameters, Size k, const Draw& draw,
               int n_threads) {
        NewArray<double> out({rows_.n_chunks(), 2});
        const BlockLoss of = checked(loss, parameters, k);
        const BlockDraw by = to_draw(draw);
        std::vector<GradientSums> sums(rows_.n_chunks());
        {
            ReleaseInterpreterLock unlock;
            sum_drawn(sums, rows_, of, by, n_threads);
        }
        for (Size c = 0; c < sums.size(); ++c) {
            out.data[2 * c] = sums[c].gradient;
            out.data[2 * c + 1] = sums[c].hessian;
        }
        return out.array;
    }

    auto quantize(const std::string& loss, const Parameters& parameters, Size k, const Draw& draw,
                  int n_threads) {
        const BlockLoss of = checked(loss, parameters, k);
        const BlockDraw by = to_draw(draw);
        QuantizedRows out;
        {
            ReleaseInterpreterLock unlock;
            out = quantize_rows(rows_, of, by, n_threads);
        }
        return std::make_tuple(out.min_ratio, out.max_ratio, out.n_rows, out.weight);
    }

    void add_root(const Writable<Stat, 4>& out, const Codes& codes) {
        const auto [histograms, of] = checked(out, codes, 1);
        const int n_threads = static_cast<int>(out.shape(0));
        ReleaseInterpreterLock unlock;
        spinney::add_root(histograms, rows_, of, n_threads);
    }

    auto split(const Writable<Stat, 4>& out, const Codes& codes, const Splits& splits, double weight_unit) {
        const std::vector<BlockSplit> own = to_splits(splits, codes.shape(0));
        Size n_built = 0;
        for (const BlockSplit& one : own) n_built += static_cast<Size>(one.builds[0]) + one.builds[1];
        const auto [histograms, of] = checked(out, codes, n_built);
        NewArray<std::int64_t> counts({own.size(), 2, 2});
        std::fill_n(counts.data, own.size() * 4, 0);
        const int n_threads = static_cast<int>(out.shape(0));
        {
            ReleaseInterpreterLock unlock;
            split_rows(histograms, counts.data, rows_, of, own, weight_unit, n_threads);
        }
        return counts.array;
    }

    void weigh(const Writable<Stat, 4>& out, const Codes& codes, const Vector<std::int32_t>& nodes,
               double weight_unit) {
        const auto [histograms, of] = checked(out, codes, nodes.size());
        const std::span<const Node> own(nodes.data(), nodes.size());
        for (const Node id : own)
            if (id < 0 || id > 65535) throw nb::value_error("no such node");
        const int n_threads = static_cast<int>(out.shape(0));
        ReleaseInterpreterLock unlock;
        weigh_nodes(histograms, rows_, of, own, weight_unit, n_threads);
    }

    auto leaves(const std::string& loss, const Parameters& parameters, Size k,
                const Vector<std::int32_t>& leaf_of_node, Size n_leaves, bool all, int n_threads) {
        const BlockLoss of = checked(loss, parameters, k);
        const auto leaf = checked(leaf_of_node, n_leaves);
        NewArray<double> out({rows_.n_chunks(), n_leaves, 3});
        std::vector<LeafSums> sums(rows_.n_chunks() * n_leaves);
        {
            ReleaseInterpreterLock unlock;
            sum_leaves(sums, rows_, of, leaf, n_leaves, all, n_threads);
        }
        for (Size i = 0; i < sums.size(); ++i) {
            out.data[3 * i] = sums[i].gradient;
            out.data[3 * i + 1] = sums[i].hessian;
            out.data[3 * i + 2] = sums[i].weight;
        }
        return out.array;
    }

    auto residuals(Size k, const Vector<std::int32_t>& leaf_of_node, Size n_leaves, bool all) {
        const auto leaf = checked(leaf_of_node, n_leaves);
        if (k >= rows_.scores.size()) throw nb::value_error("no such score");
        std::vector<std::vector<Residual>> lists;
        {
            ReleaseInterpreterLock unlock;
            lists = list_residuals(rows_, k, leaf, n_leaves, all);
        }
        Size n = 0;
        for (const auto& list : lists) n += list.size();
        std::vector<std::int64_t> sizes;
        NewArray<double> out({n, 2});
        double* to = out.data;
        for (const auto& list : lists) {
            sizes.push_back(static_cast<std::int64_t>(list.size()));
            for (const auto& [residual, weight] : list) {
                *to++ = residual;
                *to++ = weight;
            }
        }
        return std::make_tuple(to_array(std::move(sizes)), out.array);
    }

    void update(Size k, const Vector<std::int32_t>& leaf_of_node, const Vector<double>& values,
                int n_threads) {
        const auto leaf = checked(leaf_of_node, values.size());
        if (k >= rows_.scores.size()) throw nb::value_error("no such score");
        ReleaseInterpreterLock unlock;
        update_scores(rows_, k, leaf, values.data(), n_threads);
    }

    auto losses(const std::string& loss, const Parameters& parameters,
                const std::optional<Vector<double>>& weights, int n_threads) {
        if (weights && weights->size() != rows_.n_rows)
            throw nb::value_error("weights must have one entry per row");
        const Loss of = checked(loss, parameters, 0).loss;
        NewArray<double> out({rows_.n_chunks(), 2});
        ReleaseInterpreterLock unlock;
        sum_losses(out.data, rows_, of, weights ? weights->data() : nullptr, n_threads);
        return out.array;
    }

  private:
    BlockLoss checked(const std::string& loss, const Parameters& parameters, Size k) const {
        const BlockLoss out{to_loss(loss, parameters), k};
        const Size n_scores = rows_.scores.size();
        if (k >= n_scores) throw nb::value_error("no such score");
        if (out.loss.name != LossName::softmax) {
            if (n_scores != rows_.n_outputs && n_scores != parameters.size())
                throw nb::value_error("only softmax and several quantiles take several scores of one output");
            if (parameters.size() != 1 && parameters.size() != n_scores)
                throw nb::value_error("a loss has one parameter, or one per score");
            return out;
        }
        if (!rows_.log_sum_exp || rows_.n_outputs != 1)
            throw nb::value_error("the softmax loss needs one output and an array for log-sum-exp");
        return out;
    }

    std::tuple<BlockHistograms, BlockCodes> checked(const Writable<Stat, 4>& out, const Codes& codes,
                                                    Size n_built) const {
        if (codes.shape(1) != rows_.n_rows || codes.stride(1) != 1)
            throw nb::value_error("codes must have one column for each row of the block");
        if (out.shape(0) < 1 || out.shape(1) != n_built || out.shape(2) != codes.shape(0) ||
            out.shape(3) != kBundleBins || (out.size() > 0 && out.stride(3) != 1))
            throw nb::value_error("histograms must be (n_threads, n_built, n_features, 256)");
        return {BlockHistograms{out.data(), n_built},
                BlockCodes{codes.data(), codes.shape(0), static_cast<Size>(codes.stride(0))}};
    }

    std::span<const std::int32_t> checked(const Vector<std::int32_t>& leaf_of_node, Size n_leaves) const {
        const std::span<const std::int32_t> out(leaf_of_node.data(), leaf_of_node.size());
        for (const std::int32_t leaf : out)
            if (leaf >= static_cast<std::int64_t>(n_leaves)) throw nb::value_error("no such leaf");
        for (Size r = 0; r < rows_.n_rows; ++r)
            if (rows_.nodes[r] >= out.size() || out[rows_.nodes[r]] < 0)
                throw nb::value_error("a row is in a node that does not exist");
        return out;
    }

    Strided y_;
    std::optional<Vector<double>> weights_;
    Writable<double, 2> scores_;
    std::optional<Writable<double, 1>> log_sum_exp_;
    Writable<Stat, 1> packed_;
    Writable<std::uint16_t, 1> nodes_;
    std::optional<Matrix<double>> gradient_, hessian_;
    BlockRows rows_;
};

class BoundBlockGrower {
  public:
    BoundBlockGrower(const CodeMatrix& matrix, BoostOptions options)
        : options_(std::move(options)), n_features_(matrix.columns.size()) {
        if (n_features_ == 0) throw nb::value_error("the matrix has no columns");
        for (const CodeColumn& column : matrix.columns)
            if (column.width != 1) throw nb::value_error("boosting takes columns of at most 255 bins");
        if (!options_.monotonic_cst.empty() && options_.monotonic_cst.size() != n_features_)
            throw nb::value_error("one direction for each feature");
        for (const auto& set : options_.interaction_cst)
            for (const std::uint32_t f : set)
                if (f >= n_features_)
                    throw nb::value_error("an interaction set names a feature that does not exist");
        options_.n_threads = std::clamp(options_.n_threads, 1, Pool::max_threads);
        grower_ = make_block_grower(matrix, options_);
    }

    void start(const Matrix<Stat>& histogram, const Draw& draw,
               const std::tuple<double, double, Size, Stat>& quantized, double score_noise) {
        if (histogram.shape(0) != n_features_ || histogram.shape(1) != kBundleBins)
            throw nb::value_error("the histogram must be (n_features, 256)");
        const BlockDraw by = to_draw(draw);
        BlockRowFacts facts;
        facts.scales = by.scales;
        facts.weight_unit = by.weight_unit;
        facts.score_noise = score_noise;
        std::tie(facts.min_hessian_ratio, facts.max_hessian_ratio, facts.n_rows, facts.weight) = quantized;
        ReleaseInterpreterLock unlock;
        grower_->start(facts, histogram.data(), by.address);
    }

    auto nodes_to_weigh() const { return to_array(grower_->nodes_to_weigh()); }

    void give_weights(const Cube<Stat>& weights) {
        check(weights, grower_->nodes_to_weigh().size());
        ReleaseInterpreterLock unlock;
        grower_->give_weights(weights.data());
    }

    auto splits() {
        const std::vector<BlockSplit>* found;
        {
            ReleaseInterpreterLock unlock;
            found = &grower_->splits();
        }
        const Size n = found->size();
        n_built_ = 0;
        NewArray<std::int32_t> nodes({n}), first({n});
        NewArray<std::uint32_t> feature({n});
        NewArray<std::uint8_t> sides({n, kBundleBins}), builds({n, 2});
        for (Size i = 0; i < n; ++i) {
            const BlockSplit& split = (*found)[i];
            nodes.data[i] = split.node;
            first.data[i] = split.first_child;
            feature.data[i] = split.feature;
            std::copy_n(split.goes_left.begin(), kBundleBins, sides.data + i * kBundleBins);
            for (Size side = 0; side < 2; ++side) n_built_ += builds.data[2 * i + side] = split.builds[side];
        }
        return std::make_tuple(nodes.array, first.array, feature.array, sides.array, builds.array);
    }

    void give(const Cube<std::int64_t>& counts, const Cube<Stat>& histograms) {
        const std::vector<BlockSplit>& splits = last_splits();
        check(histograms, n_built_);
        if (counts.shape(0) != splits.size() || counts.shape(1) != 2 || counts.shape(2) != 2)
            throw nb::value_error("counts must be (n_splits, 2, 2)");
        std::vector<BlockSplitResult> results(splits.size());
        const Stat* next = histograms.data();
        for (Size i = 0; i < splits.size(); ++i)
            for (Size side = 0; side < 2; ++side) {
                const std::int64_t* count = counts.data() + (2 * i + side) * 2;
                results[i].n_rows[side] = static_cast<Size>(count[0]);
                results[i].weights[side] = count[1];
                if (!splits[i].builds[side]) continue;
                results[i].histograms[side] = next;
                next += n_features_ * kBundleBins;
            }
        ReleaseInterpreterLock unlock;
        grower_->give(results);
    }

    auto leaf_of_node() const { return to_array(grower_->leaf_of_node()); }
    Size n_leaves() const { return grower_->n_leaves(); }

    /// Newton steps.  sums (n_leaves, 3)
    auto fit_leaves(const Matrix<double>& sums, const std::string& loss) {
        return to_array(grower_->fit_leaves(to_sums(sums), to_loss(loss, {0.0}).name));
    }

    /// Quantiles.  sizes (n_leaves,); residuals (sum of sizes, 2): residual and weight
    auto fit_quantiles(const Vector<std::int64_t>& sizes, const Matrix<double>& residuals,
                       const std::string& loss, const Parameters& parameters, Size k) {
        const Loss of = to_loss(loss, parameters);
        if (sizes.size() != n_leaves() || residuals.shape(1) != 2)
            throw nb::value_error("one size for each leaf");
        std::vector<std::vector<Residual>> lists(sizes.size());
        Size at = 0;
        for (Size i = 0; i < lists.size(); ++i)
            for (std::int64_t j = 0; j < sizes.data()[i]; ++j, ++at) {
                if (at >= residuals.shape(0)) throw nb::value_error("there are fewer residuals than sizes");
                lists[i].emplace_back(residuals.data()[2 * at], residuals.data()[2 * at + 1]);
            }
        return to_array(grower_->fit_quantiles(lists, k, of));
    }

    double score_noise(std::uint64_t round, double n_counted, double squares, double hessians) const {
        return grower_->score_noise(round, n_counted, squares, hessians);
    }

    GrownTree finish(const Matrix<double>& sums, const Vector<double>& values) {
        const std::vector<LeafSums> own = to_sums(sums);
        if (values.size() != own.size()) throw nb::value_error("one value for each leaf");
        return {grower_->finish(own, {values.data(), values.data() + values.size()}), n_features_};
    }

  private:
    void check(const Cube<Stat>& histograms, Size n) const {
        if (histograms.shape(0) != n ||
            (n > 0 && (histograms.shape(1) != n_features_ || histograms.shape(2) != kBundleBins)))
            throw nb::value_error("histograms must be (n, n_features, 256)");
    }

    const std::vector<BlockSplit>& last_splits() const { return grower_->planned(); }

    std::vector<LeafSums> to_sums(const Matrix<double>& sums) {
        if (sums.shape(0) != n_leaves() || sums.shape(1) != 3)
            throw nb::value_error("sums must be (n_leaves, 3)");
        std::vector<LeafSums> out;
        for (Size i = 0; i < sums.shape(0); ++i)
            out.push_back({sums.data()[3 * i], sums.data()[3 * i + 1], sums.data()[3 * i + 2]});
        return out;
    }

    BoostOptions options_;
    Size n_features_, n_built_ = 0;
    std::unique_ptr<BlockGrower> grower_;
};

/// Total, number of rows above 0, whether all are integers (and not too many), and the weight of one step.
auto weight_facts(double total, Size n_positive, bool integer) {
    const bool counts = integer && total < 0x1.0p28;
    return std::make_tuple(total, n_positive, counts, counts ? 1.0 : 1 / detail::power_of_two_scale(total));
}

auto sampling_rule(const BoostOptions& options, const Vector<std::int64_t>& counts) {
    if (counts.size() != ImportanceCounts::n_bins)
        throw nb::value_error("counts must have one entry per bin");
    ImportanceCounts own;
    own.merge(counts.data());
    const SamplingRule rule = make_rule(options, own);
    return std::make_tuple(rule.always, rule.probability, rule.proportional, rule.reweight);
}

Scales gradient_scales(const BoostOptions& options, const std::string& loss, double total_weight,
                       bool integer, double gradient, double hessian, double slack) {
    const PackedLayout layout =
        choose_layout(options, parse_spelling<LossName>(nb::cast(loss)), total_weight, integer);
    const GradientScales scales = choose_scales({gradient, hessian}, slack, layout);
    return {scales.gradient, scales.hessian, layout.weight_bits, layout.hessian_bits};
}

std::uint64_t tree_address(std::uint64_t seed, std::uint64_t round, std::uint64_t k) {
    return mix(mix(seed, round), k);
}

}  // namespace
}  // namespace spinney

void register_blocks(nb::module_& m) {
    using Rows = spinney::BoundBlockRows;
    using Grower = spinney::BoundBlockGrower;
    m.attr("IMPORTANCE_BINS") = spinney::ImportanceCounts::n_bins;
    m.def("weight_facts", &spinney::weight_facts, "total"_a, "n_positive"_a, "integer"_a,
          "How row weights are scaled: (total, n_positive, integer, unit).");
    m.def("sampling_rule", &spinney::sampling_rule, "options"_a, "counts"_a,
          "Which rows a tree is grown on, by counts of importances.");
    m.def("gradient_scales", &spinney::gradient_scales, "options"_a, "loss"_a, "total_weight"_a, "integer"_a,
          "gradient"_a, "hessian"_a, "slack"_a,
          "Powers of two by which gradients and hessians are multiplied, and bits of weight and hessian.");
    m.def("tree_address", &spinney::tree_address, "seed"_a, "round"_a, "k"_a,
          "Address of the draws of a tree.");
    nb::class_<Rows>(m, "BlockRows", "Rows of one block while boosted trees are grown.")
        .def(nb::init<spinney::Size, spinney::Strided, std::optional<Vector<double>>,
                      spinney::Writable<double, 2>, std::optional<spinney::Writable<double, 1>>,
                      spinney::Writable<spinney::Stat, 1>, spinney::Writable<std::uint16_t, 1>>(),
             "first_row"_a, "y"_a, "weights"_a.none(), "scores"_a, "log_sum_exp"_a.none(), "packed"_a,
             "nodes"_a)
        .def_prop_ro("n_rows", &Rows::n_rows)
        .def("set_gradients", &Rows::set_gradients, "gradient"_a.none(), "hessian"_a.none())
        .def("update_log_sum_exp", &Rows::update_log_sum_exp, "n_threads"_a)
        .def("gradients", &Rows::gradients, "loss"_a, "parameters"_a, "k"_a, "n_threads"_a)
        .def("importances", &Rows::importances, "loss"_a, "parameters"_a, "k"_a, "slope"_a)
        .def("drawn", &Rows::drawn, "loss"_a, "parameters"_a, "k"_a, "draw"_a, "n_threads"_a)
        .def("quantize", &Rows::quantize, "loss"_a, "parameters"_a, "k"_a, "draw"_a, "n_threads"_a)
        .def("add_root", &Rows::add_root, "out"_a, "codes"_a)
        .def("split", &Rows::split, "out"_a, "codes"_a, "splits"_a, "weight_unit"_a)
        .def("weigh", &Rows::weigh, "out"_a, "codes"_a, "nodes"_a, "weight_unit"_a)
        .def("leaves", &Rows::leaves, "loss"_a, "parameters"_a, "k"_a, "leaf_of_node"_a, "n_leaves"_a,
             "all"_a, "n_threads"_a)
        .def("residuals", &Rows::residuals, "k"_a, "leaf_of_node"_a, "n_leaves"_a, "all"_a)
        .def("update", &Rows::update, "k"_a, "leaf_of_node"_a, "values"_a, "n_threads"_a)
        .def("losses", &Rows::losses, "loss"_a, "parameters"_a, "weights"_a.none(), "n_threads"_a);
    nb::class_<Grower>(m, "BlockGrower", "Grows boosted trees on rows that are read block by block.")
        .def(nb::init<const spinney::CodeMatrix&, spinney::BoostOptions>(), "matrix"_a, "options"_a)
        .def("start", &Grower::start, "histogram"_a, "draw"_a, "quantized"_a, "score_noise"_a)
        .def("nodes_to_weigh", &Grower::nodes_to_weigh)
        .def("give_weights", &Grower::give_weights, "weights"_a)
        .def("splits", &Grower::splits)
        .def("give", &Grower::give, "counts"_a, "histograms"_a)
        .def("leaf_of_node", &Grower::leaf_of_node)
        .def_prop_ro("n_leaves", &Grower::n_leaves)
        .def("fit_leaves", &Grower::fit_leaves, "sums"_a, "loss"_a)
        .def("fit_quantiles", &Grower::fit_quantiles, "sizes"_a, "residuals"_a, "loss"_a, "parameters"_a,
             "k"_a)
        .def("score_noise", &Grower::score_noise, "round"_a, "n_counted"_a, "squares"_a, "hessians"_a)
        .def("finish", &Grower::finish, "sums"_a, "values"_a);
}
