#include "explain/path_shap.hpp"

#include <algorithm>
#include <cstring>

namespace spinney {

namespace {

constexpr StatRegister none{};

StatRegister all() { return ~none; }

/// Which rows of a register go left.  known: cleared for missing values of a fractional split
StatRegister goes_left(const ExplainedTree& tree, const ExplainedSplit& split, const double* x,
                       StatRegister& known) {
    Register value;
    std::memcpy(&value, x, sizeof value);
    if (split.kind == TestKind::numeric) {
        if (split.fractional) known = value == value;
        return split.missing_left ? ~(value > split.threshold) : value <= split.threshold;
    }
    StatRegister out;
    for (Size i = 0; i < kRegister; ++i) {
        out[i] = tree.goes_left(split, x[i]) ? -1 : 0;
        if (split.fractional) known[i] = x[i] >= 0 ? -1 : 0;
    }
    return out;
}

Register constant(double value) { return Register{} + value; }

}  // namespace

void PathShap::prepare(const ExplainedTree& tree, const std::vector<Quadrature>& rules) {
    tree_ = &tree;
    if (pairs_) find_above();
    const Size n_points = std::max<Size>((tree.max_features + 1) / 2, 1);
    const Quadrature& rule = rules[n_points];
    n_passes_ = (n_points + max_points - 1) / max_points;
    passes_.resize(std::max(passes_.size(), n_passes_));
    for (Size m = 0; m < n_passes_; ++m) {
        Pass& pass = passes_[m];
        const Size begin = n_points * m / n_passes_, end = n_points * (m + 1) / n_passes_, n = end - begin;
        const auto part = [&](const std::vector<double>& all) {
            return std::vector<double>(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                       all.begin() + static_cast<std::ptrdiff_t>(end));
        };
        pass.n_points = n;
        pass.points = part(rule.points);
        pass.weights = part(rule.weights);
        pass.inverse.resize(tree.splits.size() * n);
        for (Size i = 0; i < tree.splits.size(); ++i) {
            const double z = tree.splits[i].up_share;
            for (Size p = 0; p < n; ++p) pass.inverse[i * n + p] = 1 / (z + pass.points[p] * (1 - z));
        }
        if (!pairs_) continue;
        pass.off.resize(n);
        for (Size p = 0; p < n; ++p) pass.off[p] = -1 / (1 - pass.points[p]);
        const auto tabulate = [&](std::vector<double>& on, bool left) {
            on.resize(tree.splits.size() * n);
            for (Size i = 0; i < tree.splits.size(); ++i) {
                const ExplainedSplit& split = tree.splits[i];
                const double z = split.up_share * (left ? split.share : 1 - split.share);
                for (Size p = 0; p < n; ++p) on[i * n + p] = (1 - z) / (z + pass.points[p] * (1 - z));
            }
        };
        tabulate(pass.left_on, true);
        tabulate(pass.right_on, false);
    }
}

/// One pass over the tree with P points. A frame per depth has what a split needs after its children.
template <Size P, bool Pairs>
struct PathShap::Walk {
    const ExplainedTree& tree;
    const Pass& pass;
    Pack *frames, *sums, *pairs;
    const Size* above_begin;
    const Above* above;
    Size n_values, stride, first;
    const double* x;
    Size step;

    // A frame: D, r and the weights of differences (P each); what g has in common; the rows that go left, and
    // that have passed the tests above; the sums of both children (n_values × P each); with Pairs the
    // (o − z) / w of the edge that is being visited (P).
    static constexpr Size at_factor = P, at_weight = 2 * P, at_common = 3 * P, at_left = at_common + 1,
                          at_on = at_common + 2, at_known = at_common + 3, at_edge = at_common + 4,
                          at_sums = at_edge + (Pairs ? P : 0);
    static Size frame_size(Size n_values) { return at_sums + 2 * n_values * P; }

    Pack* frame(Size depth) const { return frames + depth * frame_size(n_values); }
    static void keep(Pack& to, StatRegister mask) { std::memcpy(&to, &mask, sizeof mask); }
    static StatRegister mask(const Pack& from) {
        StatRegister out;
        std::memcpy(&out, &from, sizeof out);
        return out;
    }

    /// Evaluate a split, whose D is in the frame.
    void open(const ExplainedSplit& split, Size i, Pack* f) const {
        StatRegister known = all();
        const StatRegister left = goes_left(tree, split, x + split.column * step, known);
        StatRegister on = known;
        if (split.up >= 0) {
            const Pack* above = frame(tree.splits[static_cast<Size>(split.up)].depth);
            const StatRegister went_left = mask(above[at_left]);
            on &= mask(above[at_on]) & (split.up_on_left ? went_left : ~went_left);
        }
        keep(f[at_left], left);
        keep(f[at_on], on);
        if constexpr (Pairs) keep(f[at_known], known);
        if (split.up < 0 && !split.fractional) {
            const Register t = where(left, constant(1 - split.share), constant(-split.share));
            f[at_common].v = t;
            for (Size p = 0; p < P; ++p) {
                f[at_factor + p].v = split.share + pass.points[p] * t;
                f[at_weight + p].v = f[p].v;
            }
            return;
        }
        const double z = split.up_share * split.share;
        const Register t = where(left, constant(1 - z), constant(-z));
        const Register g = where(left, constant(split.up_share - z), constant(-z));
        f[at_common].v = where(on, g, Register{});
        const double* inverse = &pass.inverse[i * P];
        for (Size p = 0; p < P; ++p) {
            const Register r = (z + pass.points[p] * t) * inverse[p];
            f[at_factor + p].v = where(on, r, constant(split.share));
            f[at_weight + p].v = f[p].v * (inverse[p] * inverse[p]);
        }
    }

    /// Write D of a child, and with Pairs the (o − z) / w of the edge to it.
    void enter(const ExplainedSplit& split, Size i, bool to_left, Pack* f) const {
        Pack* child = frame(split.depth + 1);
        for (Size p = 0; p < P; ++p) {
            const Register left = f[p].v * f[at_factor + p].v;
            child[p].v = to_left ? left : f[p].v - left;
        }
        if constexpr (Pairs) {
            const StatRegister left = mask(f[at_left]), known = mask(f[at_known]);
            const StatRegister on = mask(f[at_on]) & (to_left ? left : ~left);
            const double* passed = &(to_left ? pass.left_on : pass.right_on)[i * P];
            for (Size p = 0; p < P; ++p) {
                const Register failed = where(known, constant(pass.off[p]), Register{});
                f[at_edge + p].v = where(on, constant(passed[p]), failed);
            }
        }
    }

    /// Add the contributions of a split, and write the sum of the leaves below it.  to (n_values, P)
    template <bool LeftLeaf, bool RightLeaf>
    void close(const ExplainedSplit& split, Size i, const Pack* f, Pack* to) const {
        const Pack* left = f + at_sums;
        const Pack* right = left + n_values * P;
        const double* values = tree.leaf_values.data();
        const double* left_value = LeftLeaf ? values + static_cast<Size>(-1 - split.left) * n_values : values;
        const double* right_value =
            RightLeaf ? values + static_cast<Size>(-1 - split.right) * n_values : values;
        for (Size k = 0; k < n_values; ++k, left += P, right += P, to += P) {
            Register differences[P], total{};
            for (Size p = 0; p < P; ++p) {
                const Register r = RightLeaf ? constant(right_value[k]) : right[p].v;
                const Register d = LeftLeaf ? left_value[k] - r : left[p].v - r;
                to[p].v = r + f[at_factor + p].v * d;
                differences[p] = d * f[at_weight + p].v;
                total += differences[p];
            }
            sums[split.feature * stride + first + k].v += f[at_common].v * total;
            if constexpr (Pairs) {
                for (Size p = 0; p < P; ++p) differences[p] *= f[at_common].v;
                add_pairs(split.feature, i, differences, k);
            }
        }
    }

    void close(const ExplainedSplit& split, Size i, const Pack* f, Pack* to) const {
        const bool left = split.left < 0, right = split.right < 0;
        if (left)
            right ? close<true, true>(split, i, f, to) : close<true, false>(split, i, f, to);
        else
            right ? close<false, true>(split, i, f, to) : close<false, false>(split, i, f, to);
    }

    /// Add the interactions of a split with the other features above it.
    void add_pairs(Size feature, Size i, const Register (&differences)[P], Size k) const {
        for (Size m = above_begin[i]; m < above_begin[i + 1]; ++m) {
            const Pack* edge = frame(above[m].depth) + at_edge;
            Register total{};
            for (Size p = 0; p < P; ++p) total += edge[p].v * differences[p];
            const Size low = std::min<Size>(feature, above[m].feature);
            const Size high = std::max<Size>(feature, above[m].feature);
            pairs[(high * (high - 1) / 2 + low) * stride + first + k].v += total;
        }
    }

    void run() const {
        for (Size p = 0; p < P; ++p) frames[p].v = constant(pass.weights[p]);
        Pack* const root = frame(tree.max_depth);  // where the sum of all leaves is written, for nobody
        Size i = 0;
        for (bool down = true;;) {
            const ExplainedSplit* split = &tree.splits[i];
            Pack* f = frame(split->depth);
            if (down) open(*split, i, f);
            if (down && split->left >= 0) {
                enter(*split, i, true, f);
                i = static_cast<Size>(split->left);
                continue;
            }
            if (split->right >= 0) {
                enter(*split, i, false, f);
                i = static_cast<Size>(split->right);
                down = true;
                continue;
            }
            // Both children are done: close this split, and those above it whose right child it was.
            for (;;) {
                if (split->parent < 0) return close(*split, i, f, root);
                Pack* above = frame(split->depth - 1);
                close(*split, i, f, above + at_sums + (split->on_left ? 0 : n_values * P));
                const bool was_left = split->on_left;
                i = static_cast<Size>(split->parent);
                split = &tree.splits[i];
                f = above;
                if (was_left) break;
            }
            down = false;
        }
    }
};

template <bool Pairs>
void PathShap::run(Pack* sums, Pack* pairs, Size stride, Size first, const double* x, Size step) {
    if (tree_->splits.empty()) return;
    for (Size m = 0; m < n_passes_; ++m) {
        const Pass& pass = passes_[m];
        const auto walk = [&]<Size P>() {
            using W = Walk<P, Pairs>;
            frames_.resize(std::max(frames_.size(), (tree_->max_depth + 1) * W::frame_size(n_values_)));
            W{*tree_,        pass,      frames_.data(), sums,  pairs, above_begin_.data(),
              above_.data(), n_values_, stride,         first, x,     step}
                .run();
        };
        switch (pass.n_points) {
            case 1:
                walk.template operator()<1>();
                break;
            case 2:
                walk.template operator()<2>();
                break;
            case 3:
                walk.template operator()<3>();
                break;
            case 4:
                walk.template operator()<4>();
                break;
            case 5:
                walk.template operator()<5>();
                break;
            case 6:
                walk.template operator()<6>();
                break;
            case 7:
                walk.template operator()<7>();
                break;
            default:
                walk.template operator()<8>();
                break;
        }
    }
}

void PathShap::add(Pack* sums, Size stride, Size first, const double* x, Size step) {
    run<false>(sums, nullptr, stride, first, x, step);
}

void PathShap::add_pairs(Pack* sums, Pack* pairs, Size stride, Size first, const double* x, Size step) {
    run<true>(sums, pairs, stride, first, x, step);
}

void PathShap::find_above() {
    above_begin_.assign(1, 0);
    above_.clear();
    std::vector<Size> seen(tree_->max_features, 0);
    for (Size i = 0; i < tree_->splits.size(); ++i) {
        const ExplainedSplit& split = tree_->splits[i];
        seen[split.slot] = i + 1;
        for (std::int32_t j = split.parent; j >= 0; j = tree_->splits[static_cast<Size>(j)].parent) {
            const ExplainedSplit& other = tree_->splits[static_cast<Size>(j)];
            if (seen[other.slot] == i + 1) continue;
            seen[other.slot] = i + 1;
            above_.push_back({other.depth, other.feature});
        }
        above_begin_.push_back(above_.size());
    }
}

}  // namespace spinney
