// Registers the families; each has its own register_*.cpp.
#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"

NB_MODULE(SPINNEY_MODULE, m) {
    nanobind::set_leak_warnings(false);  // a model that is still alive at exit is no leak
    nanobind::register_exception_translator(catch_thread_exit);
    register_core(m);
    register_spill(m);
    register_matrix(m);
    register_store(m);
    register_tree(m);
    register_grow(m);
    register_boost(m);
    register_blocks(m);
    register_ranking(m);
    register_predict(m);
    register_explain(m);
    register_stumps(m);
    register_linear(m);
    register_learners(m);
}
