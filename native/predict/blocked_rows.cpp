#include "predict/blocked_rows.hpp"

#include <algorithm>

namespace spinney {

namespace {

constexpr Size max_bounds = 254;  // codes from −127 to 127
constexpr Size max_ranks = 65534, max_features = 128;

}  // namespace

CoarseRanks::CoarseRanks(const std::vector<std::uint32_t>& n_splits)
    : is_bound_(n_splits.size(), n_splits.size() <= max_bounds) {
    if (n_splits.size() > max_bounds) choose_bounds(n_splits);
    std::uint32_t below = 0;
    code_.push_back(SignedCode<std::int8_t>::missing);
    for (const bool bound : is_bound_) {
        code_.push_back(SignedCode<std::int8_t>::of(below));
        below += bound;
    }
    code_.push_back(SignedCode<std::int8_t>::of(below));
}

/// One bound per equal part of the splits, at the threshold with most of them.
void CoarseRanks::choose_bounds(const std::vector<std::uint32_t>& n_splits) {
    Size all = 0, before = 0, best = 0, part = 0;
    for (const std::uint32_t n : n_splits) all += n;
    for (Size i = 0; i < n_splits.size(); before += n_splits[i++]) {
        const Size own = before * max_bounds / all;
        if (own > part) {
            is_bound_[best] = true;
            best = i;
            part = own;
        } else if (n_splits[i] > n_splits[best]) {
            best = i;
        }
    }
    is_bound_[best] = true;
}

bool BlockedRows::suits(const EnsembleCodes& codes) {
    for (const FeatureCodes& f : codes.features)
        if (f.categorical || f.ranks.size() > max_ranks) return false;
    return !codes.features.empty() && codes.features.size() <= max_features;
}

void BlockedRows::code(const EnsembleCodes& codes, const std::vector<CoarseRanks>& coarse,
                       std::span<const InputColumn> columns, Size begin, Size n) {
    const Size n_features = codes.features.size();
    n_features_ = n_features;
    row_bytes_ = row_bytes(n_features);
    exact_.resize((n + group - 1) / group * n_features);
    coarse_.resize((n * row_bytes_ + sizeof(CacheLine) - 1) / sizeof(CacheLine));
    constexpr Size at_once = 32 * group;
    std::uint32_t code[at_once], max = 0;
    for (Size first = 0; first < n; first += at_once) {
        const Size here = std::min(at_once, n - first);
        for (Size s = 0; s < n_features; ++s) {
            const FeatureCodes& f = codes.features[s];
            f.code(code, columns[f.feature], begin + first, here);
            for (Size i = 0; i < here; ++i) max = std::max(max, code[i]);
            write_exact(first, s, code, here);
            write_coarse(first, s, code, here, coarse[s]);
        }
    }
    any_missing_ = max == missing_code;
}

void BlockedRows::write_exact(Size first, Size feature, const std::uint32_t* code, Size n) {
    Group* own = &exact_[first / group * n_features_ + feature];
    for (Size i = 0; i < n; i += group, own += n_features_) {
        const Size here = std::min(group, n - i);
        for (Size k = 0; k < here; ++k) own->code[k] = SignedCode<std::int16_t>::of(code[i + k]);
    }
}

void BlockedRows::write_coarse(Size first, Size feature, const std::uint32_t* code, Size n,
                               const CoarseRanks& coarse) {
    std::int8_t* own = coarse_.data()->code + first * row_bytes_ + feature;
    for (Size i = 0; i < n; ++i, own += row_bytes_) *own = coarse.code(code[i]);
}

}  // namespace spinney
