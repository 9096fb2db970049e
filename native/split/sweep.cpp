// Scores of the best split of a feature.
#include "split/sweep.hpp"

namespace spinney {

double detail::split_information(double left, double right) {
    const double w = left + right;
    return (xlog2x(w) - xlog2x(left) - xlog2x(right)) / w;
}

void finish(Candidate& out, ScorerBase& scorer, const FeatureSearch& q, double quality, const Stat* left) {
    const double w = scorer.weight(q.total), base = scorer.quality(q.total);
    out.feature = q.feature;
    out.gain = q.known_fraction * (quality - base) / w;
    out.improvement = q.node_weight_fraction * out.gain;
    if (q.options.needs_gain_ratio()) {
        const double wl = scorer.weight(left);
        const double information = detail::split_information(wl, w - wl);
        out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    }
    out.score = cost_adjusted(q.options, out.gain, q.feature);
    if (q.keep_left) std::copy_n(left, q.s.width, q.keep_left);
}

}  // namespace spinney
