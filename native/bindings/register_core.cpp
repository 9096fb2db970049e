// Registers what has no data: thread counts, elementary functions, seeds and the interrupt of tests.
#include "bindings/arrays.hpp"
#include "bindings/register.hpp"
#include "core/chunk_sum.hpp"
#include "core/seeds.hpp"
#include "core/thread_pool.hpp"
#include "simd/elementary.hpp"

namespace {

auto draw_seeds(const Vector<std::uint64_t>& random_states) {
    NewArray<std::uint64_t> out({random_states.size()});
    for (size_t i = 0; i < random_states.size(); ++i)
        out.data[i] = spinney::draw_seed(random_states.data()[i]);
    return out.array;
}

auto draw_words(const Vector<std::uint64_t>& seeds, const Vector<std::uint32_t>& purposes) {
    if (seeds.size() != purposes.size()) throw nb::value_error("one purpose per seed");
    NewArray<std::uint64_t> out({seeds.size()});
    for (size_t i = 0; i < seeds.size(); ++i)
        out.data[i] = spinney::draw_word(seeds.data()[i], purposes.data()[i]);
    return out.array;
}

template <void function(double*, const double*, spinney::Size)>
auto map_array(const Vector<double>& x) {
    NewArray<double> out({x.size()});
    function(out.data, x.data(), x.size());
    return out.array;
}

auto softmax(const Matrix<double>& scores) {
    if (scores.shape(1) == 0) throw nb::value_error("softmax needs at least one score per row");
    NewArray<double> out({scores.shape(0), scores.shape(1)});
    spinney::softmax_rows(out.data, scores.data(), scores.shape(0), scores.shape(1));
    return out.array;
}

}  // namespace

void register_core(nb::module_& m) {
    m.attr("CHUNK_ROWS") = spinney::kChunkRows;
    m.def("available_cpus", &spinney::available_cpus,
          "Return the number of CPUs that the affinity mask and the container's quota allow.");
    m.def("interrupt_at_poll", &spinney::interrupt_at_poll, "n"_a,
          "Test hook: raise SIGINT at the n-th poll from now, counted from 1; 0 switches it off.");
    m.def("polls_until_interrupt", &spinney::polls_until_interrupt,
          "Test hook: return the polls left until the one that interrupt_at_poll chose; 0: none.");
    m.def("exp", &map_array<spinney::exp_array>, "x"_a, "Return e^x of each number (n,).");
    m.def("expit", &map_array<spinney::expit_array>, "x"_a, "Return 1 / (1 + e^−x) of each number (n,).");
    m.def("softmax", &softmax, "scores"_a, "Return e^x / Σ e^x of each row (n, k).");
    m.def("log", &map_array<spinney::log_array>, "x"_a, "Return the natural logarithm of each number (n,).");
    m.def("draw_seeds", &draw_seeds, "random_states"_a,
          "Return SeedSequence(random_state).generate_state(1, uint64)[0] of each number (n,).");
    m.def("draw_words", &draw_words, "seeds"_a, "purposes"_a,
          "Return PCG64([seed, purpose]).random_raw() of each pair (n,).");
}
