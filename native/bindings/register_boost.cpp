// Registers the gradient booster and its options.
#include <nanobind/stl/optional.h>

#include <memory>

#include "bindings/arrays.hpp"
#include "bindings/grown_tree.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/options.hpp"
#include "bindings/register.hpp"
#include "boost/booster.hpp"

namespace spinney {
namespace {

/// Check what a wrong call from Python could break.
void check(const CodeMatrix& x, const BoostOptions& o) {
    const auto d = x.columns.size();
    if (d == 0 || x.n_rows == 0) throw nb::value_error("the matrix has no columns or no rows");
    if (x.n_rows >= (Size{1} << 30)) throw nb::value_error("more than 2^30 - 1 rows");
    for (const CodeColumn& column : x.columns)
        if (column.width != 1) throw nb::value_error("boosting takes columns of at most 255 bins");
    if (o.n_threads < 1) throw nb::value_error("n_threads must be positive");
    if (!o.monotonic_cst.empty() && o.monotonic_cst.size() != d)
        throw nb::value_error("one direction for each feature");
    for (Size f = 0; f < o.monotonic_cst.size(); ++f)
        if (o.monotonic_cst[f] != 0 && x.columns[f].kind == ColumnKind::categorical)
            throw nb::value_error("a categorical feature has no direction");
    for (const auto& set : o.interaction_cst)
        for (const std::uint32_t f : set)
            if (f >= d) throw nb::value_error("an interaction set names a feature that does not exist");
    if (!(o.l2_regularization >= 0)) throw nb::value_error("l2_regularization must not be negative");
}

/// A booster and what its calls from Python need.
class BoundBooster {
  public:
    BoundBooster(const CodeMatrix& matrix, BoostOptions o) : n_features_(matrix.columns.size()) {
        o.n_threads = std::min(o.n_threads, Pool::max_threads);
        check(matrix, o);
        ReleaseInterpreterLock unlock;
        booster_ = make_booster(matrix, std::move(o));
    }

    void set_rows(const Vector<double>& y, const std::optional<Vector<double>>& weights,
                  const Matrix<double>& scores) {
        const Size n = booster_->n_rows();
        if (scores.shape(0) != n || (weights && weights->size() != n))
            throw nb::value_error("weights and scores must have one entry for each row of the matrix");
        if (scores.shape(1) == 0) throw nb::value_error("there must be at least one score");
        if (y.size() != n && y.size() != n * scores.shape(1))
            throw nb::value_error("y must have one entry for each row, or for each score of each row");
        n_scores_ = scores.shape(1);
        n_outputs_ = y.size() / n;
        classes_ = 0;
        for (Size r = 0; r < y.size(); ++r)
            classes_ = std::max(classes_, y.data()[r] >= 0 ? y.data()[r] + 1 : HUGE_VAL);
        bool positive = !weights;
        for (Size r = 0; weights && r < n; ++r) {
            if (!(weights->data()[r] >= 0)) throw nb::value_error("weights must not be negative");
            positive = positive || weights->data()[r] > 0;
        }
        if (!positive) throw nb::value_error("all weights are zero");
        ReleaseInterpreterLock unlock;
        booster_->set_rows(y.data(), n_outputs_, weights ? weights->data() : nullptr, scores.data(),
                           n_scores_);
    }

    nb::list run(const std::string& loss, const std::vector<double>& parameters, Size n_rounds) {
        const Loss used = checked(loss, parameters);
        std::vector<FlatTree> trees;
        run_interruptible([&](Interrupt& interrupt) { trees = booster_->run(used, n_rounds, interrupt); });
        return to_list(std::move(trees), n_features_);
    }

    nb::list step(const Matrix<double>& gradient, const Matrix<double>& hessian, bool bounded) {
        for (const Matrix<double>* m : {&gradient, &hessian})
            if (m->shape(0) != booster_->n_rows() || m->shape(1) != n_scores_)
                throw nb::value_error("gradient and hessian must have the shape of the scores");
        std::vector<FlatTree> trees;
        run_interruptible([&](Interrupt& interrupt) {
            trees = booster_->step(gradient.data(), hessian.data(), bounded, interrupt);
        });
        return to_list(std::move(trees), n_features_);
    }

    auto scores() const {
        const auto& columns = booster_->scores();
        NewArray<double> out({booster_->n_rows(), columns.size()});
        for (Size k = 0; k < columns.size(); ++k)
            for (Size r = 0; r < columns[k].size(); ++r) out.data[r * columns.size() + k] = columns[k][r];
        return out.array;
    }

    double loss(const std::string& loss, const std::vector<double>& parameters,
                const std::optional<Vector<double>>& weights) {
        if (weights && weights->size() != booster_->n_rows())
            throw nb::value_error("weights must have one entry for each row of the matrix");
        const Loss used = checked(loss, parameters);
        const double* given = weights ? weights->data() : nullptr;
        ReleaseInterpreterLock unlock;
        return booster_->mean_loss(used, given);
    }

    nb::dict times() const {
        nb::dict out;
        for (Size i = 0; i < phase_names.size(); ++i) out[phase_names[i]] = booster_->times().seconds[i];
        return out;
    }

    std::uint64_t round() const { return booster_->round(); }

  private:
    Loss checked(const std::string& loss, const std::vector<double>& parameters) const {
        const LossName name = parse_spelling<LossName>(nb::cast(loss));
        if (parameters.size() != 1 && parameters.size() != n_scores_)
            throw nb::value_error("a loss has one parameter, or one per score");
        if (name == LossName::softmax && (n_outputs_ > 1 || classes_ > static_cast<double>(n_scores_)))
            throw nb::value_error("a class code is out of range");
        if (name != LossName::softmax && n_scores_ != 0 && n_scores_ != n_outputs_ &&
            n_scores_ != parameters.size())
            throw nb::value_error("only softmax and several quantiles take several scores of one output");
        return {name, parameters};
    }

    std::unique_ptr<Booster> booster_;
    Size n_features_;
    Size n_scores_ = 0, n_outputs_ = 1;
    double classes_ = 0;  // more than the greatest class code
};

}  // namespace
}  // namespace spinney

void register_boost(nb::module_& m) {
    using Bound = spinney::BoundBooster;
    spinney::bind_options<spinney::BoostOptions>(m, "BoostOptions", "The parameters of gradient boosting.");
    nb::class_<Bound>(m, "Booster", "Grows boosted trees on one matrix, round after round.")
        .def(nb::init<const spinney::CodeMatrix&, spinney::BoostOptions>(), "matrix"_a, "options"_a,
             nb::keep_alive<1, 2>())
        .def("set_rows", &Bound::set_rows, "y"_a, "weights"_a.none(), "scores"_a,
             "Take targets, one output after the other, weights and first scores; rows of weight 0 are only "
             "scored.")
        .def("run", &Bound::run, "loss"_a, "parameters"_a, "n_rounds"_a,
             "Boost by a loss that is built in; one tree for each score and round.")
        .def("step", &Bound::step, "gradient"_a, "hessian"_a, "bounded"_a = false,
             "Boost one round by gradients and hessians (n_rows, n_scores), both without row weights.")
        .def("loss", &Bound::loss, "loss"_a, "parameters"_a, "weights"_a.none(),
             "Give the mean loss by weight; None: by the weights of training.")
        .def_prop_ro("scores", &Bound::scores, nb::rv_policy::move, "Copy the scores (n_rows, n_scores).")
        .def_prop_ro("times", &Bound::times, "Give the seconds spent, by phase.")
        .def_prop_ro("round", &Bound::round, "Give the number of the next round.");
}
