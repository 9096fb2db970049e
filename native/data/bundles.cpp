#include "data/bundles.hpp"

#include <tuple>

namespace spinney {

namespace {

/// Columns with more codes than this are not worth sharing: a partner could hardly have two.
constexpr Size kFewCodes = 100;

/// The code of most rows of a column, and the share of the rows that have it, of a sample of the rows.
std::pair<std::uint8_t, double> most_common(const CodeColumn& column, Size n_rows) {
    constexpr Size kSample = 2048;
    const Size step = std::max<Size>(1, n_rows / kSample);
    const std::uint8_t* codes = column.as<std::uint8_t>();
    std::array<std::uint32_t, kBundleBins> counts{};
    Size n = 0;
    for (Size r = 0; r < n_rows; r += step, ++n) ++counts[codes[r]];
    const auto most = std::max_element(counts.begin(), counts.end());
    return {static_cast<std::uint8_t>(most - counts.begin()),
            n ? static_cast<double>(*most) / static_cast<double>(n) : 0.0};
}

/// Put sparse bundles last, where listing the other codes of each row saves time.
void put_sparse_last(Bundles& all, const CodeMatrix& x) {
    // What a row's list costs, and each of its entries, in additions of a row to the histogram of a dense
    // bundle: the length of a list is hard to predict, and its entries are in distant histograms.
    constexpr double kListCost = 40, kEntryCost = 3;
    std::vector<Size> order, sparse;
    double saved = -kListCost;
    for (Size s = 0; s < all.bundles.size(); ++s) {
        Bundle& bundle = all.bundles[s];
        double share = 0;
        if (!bundle.shared())
            std::tie(bundle.common, share) = most_common(x.columns[bundle.features[0]], x.n_rows);
        const double saved_here = 1 - kEntryCost * (1 - share);
        if (saved_here > 0) saved += saved_here;
        (saved_here > 0 ? sparse : order).push_back(s);
    }
    if (saved <= 0) {
        all.n_dense = all.bundles.size();
        return;
    }
    all.n_dense = order.size();
    order.insert(order.end(), sparse.begin(), sparse.end());
    Bundles sorted;
    for (const Size s : order) {
        sorted.bundles.push_back(std::move(all.bundles[s]));
        sorted.codes.push_back(std::move(all.codes[s]));
    }
    all.bundles = std::move(sorted.bundles);
    all.codes = std::move(sorted.codes);
}

/// Numbers the combinations of a bundle's codes with one more column's.  out (n_rows,) holds the bundle's
/// codes and is overwritten when the result is true: the column joins.
class Joiner {
  public:
    explicit Joiner(Size n_rows) : n_rows_(n_rows), codes(n_rows) {}

    void start(const CodeColumn& column) {
        std::copy_n(column.as<std::uint8_t>(), n_rows_, codes.data());
        n_ = column.n_bins + 1;
        combinations.resize(n_);
        for (Size c = 0; c < n_; ++c) combinations[c] = {static_cast<std::uint8_t>(c)};
        cost_ = additions * static_cast<double>(n_rows_);
    }

    /// Whether a column joined: where that lowers the mean cost of the columns. Combinations in order of
    /// first appearance would depend on the rows' order; they are numbered by value.
    bool join(const CodeColumn& column) {
        const std::uint8_t* other = column.as<std::uint8_t>();
        const Size width = column.n_bins + 1;
        met_.assign(n_ * width, 0);
        for (Size r = 0; r < n_rows_; ++r) met_[codes[r] * width + other[r]] = 1;
        const Size n = static_cast<Size>(std::count(met_.begin(), met_.end(), 1));
        if (n > kBundleBins) return false;
        number_.assign(met_.size(), 0);
        std::vector<std::vector<std::uint8_t>> next;
        for (Size i = 0; i < met_.size(); ++i) {
            if (!met_[i]) continue;
            number_[i] = static_cast<std::uint8_t>(next.size());
            next.push_back(combinations[i / width]);
            next.back().push_back(static_cast<std::uint8_t>(i % width));
        }
        const double cost = cost_of(next), n_joined = static_cast<double>(next[0].size());
        if (cost * (n_joined - 1) >= cost_ * n_joined) return false;
        cost_ = cost;
        for (Size r = 0; r < n_rows_; ++r) codes[r] = number_[codes[r] * width + other[r]];
        combinations = std::move(next);
        n_ = n;
        return true;
    }

  private:
    /// What a shared bundle costs a tree of 31 leaves, in additions: all rows are added three times, and the
    /// columns' histograms are summed out of the bundle's, half an addition a sum, at 60 nodes.
    static constexpr double additions = 3, nodes = 60;
    double cost_of(const std::vector<std::vector<std::uint8_t>>& all) const {
        Size sums = 0;
        for (Size place = 0; place < all[0].size(); ++place) {
            std::array<Size, kBundleBins> n_of_code{};
            for (const auto& codes_of_one : all) ++n_of_code[codes_of_one[place]];
            sums += 10 + all.size() - *std::max_element(n_of_code.begin(), n_of_code.end());
        }
        return additions * static_cast<double>(n_rows_) + nodes / 2 * static_cast<double>(sums);
    }

    Size n_rows_, n_ = 0;
    double cost_ = 0;
    std::vector<std::uint8_t> met_, number_;

  public:
    std::vector<std::uint8_t> codes;
    std::vector<std::vector<std::uint8_t>> combinations;
};

/// The combinations of each code of the column at a place.
SharedColumn share_column(const std::vector<std::vector<std::uint8_t>>& combinations, Size place) {
    std::array<std::vector<std::uint8_t>, kBundleBins> by_code;
    for (Size i = 0; i < combinations.size(); ++i)
        by_code[combinations[i][place]].push_back(static_cast<std::uint8_t>(i));
    SharedColumn out;
    for (Size code = 1; code < kBundleBins; ++code)
        if (by_code[code].size() > by_code[out.common].size()) out.common = static_cast<std::uint8_t>(code);
    for (Size code = 0; code < kBundleBins; ++code) {
        const auto& of_code = by_code[code];
        if (code == out.common || of_code.empty()) continue;
        out.combinations.insert(out.combinations.end(), of_code.begin(), of_code.end());
        out.runs.push_back(
            {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(out.combinations.size())});
    }
    return out;
}

}  // namespace

Bundles make_bundles(const CodeMatrix& x, std::span<const std::uint8_t> kept) {
    Bundles out;
    const auto finish = [&](Bundle bundle, Joiner& joiner) {
        for (Size place = 0; bundle.shared() && place < bundle.features.size(); ++place)
            bundle.columns.push_back(share_column(joiner.combinations, place));
        if (bundle.shared()) {
            bundle.n_bins = joiner.combinations.size();
            out.codes.push_back(joiner.codes);
            out.bundles.push_back(std::move(bundle));
            return;
        }
        const std::uint32_t f = bundle.features[0];
        out.codes.emplace_back();
        out.bundles.push_back({{f}, {}, x.columns[f].n_bins + 1});
    };
    Joiner joiner(x.n_rows);
    Bundle open;
    for (std::uint32_t f = 0; f < x.columns.size(); ++f) {
        if (!kept.empty() && !kept[f]) continue;
        const CodeColumn& column = x.columns[f];
        if (column.n_bins + 1 > kFewCodes) {
            finish({{f}, {}, 0}, joiner);
            continue;
        }
        if (!open.features.empty() && joiner.join(column)) {
            open.features.push_back(f);
            continue;
        }
        if (!open.features.empty()) finish(std::move(open), joiner);
        open = {{f}, {}, 0};
        joiner.start(column);
    }
    if (!open.features.empty()) finish(std::move(open), joiner);
    put_sparse_last(out, x);
    out.place_of.resize(x.columns.size(), {out.bundles.size(), 0});
    for (Size s = 0; s < out.bundles.size(); ++s)
        for (Size p = 0; p < out.bundles[s].features.size(); ++p)
            out.place_of[out.bundles[s].features[p]] = {s, p};
    return out;
}

}  // namespace spinney
