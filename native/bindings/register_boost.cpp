// The gradient booster: options in as a dict, trees out as dicts of TreeArrays' fields.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "boost/booster.hpp"
#include "bindings/interrupt.hpp"
#include "bindings/options_dict.hpp"
#include "bindings/register.hpp"
#include "bindings/tree_dict.hpp"

using namespace nb::literals;

namespace spinney {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SignVector = nb::ndarray<const std::int8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const std::map<std::string, LossName> loss_names{
    {"squared", LossName::squared},   {"absolute", LossName::absolute},
    {"quantile", LossName::quantile}, {"huber", LossName::huber},
    {"poisson", LossName::poisson},   {"gamma", LossName::gamma},
    {"tweedie", LossName::tweedie},   {"log", LossName::log},
    {"softmax", LossName::softmax},   {"exponential", LossName::exponential}};

LossName read_loss(const std::string& name) {
    const auto found = loss_names.find(name);
    if (found == loss_names.end()) throw nb::value_error(("no loss is called '" + name + "'").c_str());
    return found->second;
}

/// The option, or what stands for it when it is not given; None counts as not given.
template <class T>
T option(const nb::dict& d, const char* name, T otherwise) {
    if (!d.contains(name) || d[name].is_none()) return otherwise;
    return nb::cast<T>(d[name]);
}

template <class T>
T limit_option(const nb::dict& d, const char* name, T otherwise) {
    if (!d.contains(name) || d[name].is_none()) return otherwise;
    return limit<T>(d[name]);
}

BoostOptions read_boost_options(const nb::dict& d) {
    BoostOptions o;
    o.n_threads = std::min(limit<int>(d["n_threads"]), Pool::max_threads);
    o.seed = nb::cast<std::uint64_t>(d["seed"]);
    o.first_round = option<std::uint64_t>(d, "first_round", 0);
    o.level_wise = one_of<bool>({{"best", false}, {"level", true}}, d["growth"], false);
    o.max_leaf_nodes = limit_option<Size>(d, "max_leaf_nodes", o.max_leaf_nodes);
    o.max_depth = limit_option<int>(d, "max_depth", o.max_depth);
    o.min_samples_leaf = nb::cast<double>(d["min_samples_leaf"]);
    o.min_hessian = nb::cast<double>(d["min_hessian"]);
    o.l2 = nb::cast<double>(d["l2"]);
    o.min_gain = nb::cast<double>(d["min_gain"]);
    o.learning_rate = nb::cast<double>(d["learning_rate"]);
    o.sampling = one_of<Sampling>({{"none", Sampling::none},
                                   {"uniform", Sampling::uniform},
                                   {"gradient", Sampling::goss},
                                   {"variance", Sampling::mvs}},
                                  d["sampling"], Sampling::none);
    o.row_fraction = option<double>(d, "row_fraction", o.row_fraction);
    o.top_fraction = option<double>(d, "top_fraction", o.top_fraction);
    o.other_fraction = option<double>(d, "other_fraction", o.other_fraction);
    o.column_fraction = option<double>(d, "column_fraction", o.column_fraction);
    o.max_features = limit_option<Size>(d, "max_features", o.max_features);
    if (d.contains("monotone") && !d["monotone"].is_none()) {
        const auto signs = nb::cast<SignVector>(d["monotone"]);
        o.monotone.assign(signs.data(), signs.data() + signs.size());
    }
    o.limits_interactions = d.contains("interactions") && !d["interactions"].is_none();
    if (o.limits_interactions)
        o.interactions = nb::cast<std::vector<std::vector<std::uint32_t>>>(d["interactions"]);
    o.categories = one_of<CategorySplit>(
        {{"subset", CategorySplit::subset}, {"one-vs-rest", CategorySplit::one_vs_rest}}, d["categories"],
        CategorySplit::subset);
    o.category_smoothing = option<double>(d, "category_smoothing", o.category_smoothing);
    o.category_l2 = option<double>(d, "category_l2", o.category_l2);
    o.ledger = option<bool>(d, "ledger", false);
    return o;
}

/// Check what a wrong call from Python could break.
void check(const CodeMatrix& x, const BoostOptions& o) {
    const auto d = x.columns.size();
    if (d == 0 || x.n_rows == 0) throw nb::value_error("the matrix has no columns or no rows");
    if (x.n_rows >= (Size{1} << 30)) throw nb::value_error("more than 2^30 - 1 rows");
    for (const CodeColumn& column : x.columns)
        if (column.width != 1) throw nb::value_error("boosting takes columns of at most 255 bins");
    if (o.n_threads < 1) throw nb::value_error("n_threads must be positive");
    if (!o.monotone.empty() && o.monotone.size() != d)
        throw nb::value_error("one direction for each feature");
    for (Size f = 0; f < o.monotone.size(); ++f)
        if (o.monotone[f] != 0 && x.columns[f].kind == ColumnKind::categorical)
            throw nb::value_error("a categorical feature has no direction");
    for (const auto& set : o.interactions)
        for (const std::uint32_t f : set)
            if (f >= d) throw nb::value_error("an interaction set names a feature that does not exist");
    if (!(o.l2 >= 0)) throw nb::value_error("l2 must not be negative");
}

/// A booster and what its calls from Python need.
class BoundBooster {
  public:
    BoundBooster(const CodeMatrix& matrix, const nb::dict& options) {
        BoostOptions o = read_boost_options(options);
        check(matrix, o);
        nb::gil_scoped_release unlock;
        booster_ = std::make_unique<Booster>(matrix, std::move(o));
    }

    void set_rows(const Vector& y, const std::optional<Vector>& weights, const Matrix& scores) {
        const Size n = booster_->n_rows();
        if (y.size() != n || scores.shape(0) != n || (weights && weights->size() != n))
            throw nb::value_error("y, weights and scores must have one entry for each row of the matrix");
        if (scores.shape(1) == 0) throw nb::value_error("there must be at least one score");
        n_scores_ = scores.shape(1);
        classes_ = 0;
        for (Size r = 0; r < n; ++r)
            classes_ = std::max(classes_, y.data()[r] >= 0 ? y.data()[r] + 1 : HUGE_VAL);
        bool positive = !weights;
        for (Size r = 0; weights && r < n; ++r) {
            if (!(weights->data()[r] >= 0)) throw nb::value_error("weights must not be negative");
            positive = positive || weights->data()[r] > 0;
        }
        if (!positive) throw nb::value_error("all weights are zero");
        booster_->set_rows(y.data(), weights ? weights->data() : nullptr, scores.data(), n_scores_);
    }

    nb::list run(const std::string& loss, double parameter, Size n_rounds) {
        const LossName name = checked(loss);
        std::vector<FlatTree> trees;
        run_interruptible(
            [&](Interrupt& interrupt) { trees = booster_->run({name, parameter}, n_rounds, interrupt); });
        return write_trees(std::move(trees));
    }

    nb::list step(const Matrix& gradient, const Matrix& hessian) {
        for (const Matrix* m : {&gradient, &hessian})
            if (m->shape(0) != booster_->n_rows() || m->shape(1) != n_scores_)
                throw nb::value_error("gradient and hessian must have the shape of the scores");
        std::vector<FlatTree> trees;
        run_interruptible([&](Interrupt& interrupt) {
            trees = booster_->step(gradient.data(), hessian.data(), interrupt);
        });
        return write_trees(std::move(trees));
    }

    auto scores() const {
        const auto& columns = booster_->scores();
        NewArray<double> out({booster_->n_rows(), columns.size()});
        for (Size k = 0; k < columns.size(); ++k)
            for (Size r = 0; r < columns[k].size(); ++r) out.data[r * columns.size() + k] = columns[k][r];
        return out.array;
    }

    double loss(const std::string& loss, double parameter, const std::optional<Vector>& weights) {
        if (weights && weights->size() != booster_->n_rows())
            throw nb::value_error("weights must have one entry for each row of the matrix");
        const LossName name = checked(loss);
        const double* given = weights ? weights->data() : nullptr;
        nb::gil_scoped_release unlock;
        return booster_->mean_loss({name, parameter}, given);
    }

    nb::dict times() const {
        nb::dict out;
        for (Size i = 0; i < phase_names.size(); ++i) out[phase_names[i]] = booster_->times().seconds[i];
        return out;
    }

    std::uint64_t round() const { return booster_->round(); }

  private:
    LossName checked(const std::string& loss) const {
        const LossName name = read_loss(loss);
        if (name == LossName::softmax && classes_ > static_cast<double>(n_scores_))
            throw nb::value_error("a class code is out of range");
        if (name != LossName::softmax && n_scores_ > 1)
            throw nb::value_error("only the softmax loss takes several scores");
        return name;
    }

    static nb::list write_trees(std::vector<FlatTree> trees) {
        nb::list out;
        for (FlatTree& tree : trees) out.append(write_tree(std::move(tree)));
        return out;
    }

    std::unique_ptr<Booster> booster_;
    Size n_scores_ = 0;
    double classes_ = 0;  // more than the greatest class code
};

}  // namespace
}  // namespace spinney

void register_boost(nb::module_& m) {
    using Bound = spinney::BoundBooster;
    nb::class_<Bound>(m, "Booster", "Grows boosted trees on one matrix, round after round.")
        .def(nb::init<const spinney::CodeMatrix&, const nb::dict&>(), "matrix"_a, "options"_a,
             nb::keep_alive<1, 2>())
        .def("set_rows", &Bound::set_rows, "y"_a, "weights"_a.none(), "scores"_a,
             "Take targets, weights and first scores; rows of weight 0 are only scored.")
        .def("run", &Bound::run, "loss"_a, "parameter"_a, "n_rounds"_a,
             "Boost by a loss that is built in; one tree for each score and round.")
        .def("step", &Bound::step, "gradient"_a, "hessian"_a,
             "Boost one round by gradients and hessians (n_rows, n_scores), both without row weights.")
        .def("loss", &Bound::loss, "loss"_a, "parameter"_a, "weights"_a.none(),
             "Give the mean loss by weight; None: by the weights of training.")
        .def_prop_ro("scores", &Bound::scores, nb::rv_policy::move, "Copy the scores (n_rows, n_scores).")
        .def_prop_ro("times", &Bound::times, "Give the seconds spent, by phase.")
        .def_prop_ro("round", &Bound::round, "Give the number of the next round.");
}
