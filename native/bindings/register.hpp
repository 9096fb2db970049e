// The families that module.cpp puts together.
#pragma once

#include <nanobind/nanobind.h>

using namespace nanobind::literals;  // "x"_a: an argument x

void register_core(nanobind::module_& m);
void register_spill(nanobind::module_& m);
void register_matrix(nanobind::module_& m);
void register_store(nanobind::module_& m);
void register_tree(nanobind::module_& m);
void register_grow(nanobind::module_& m);
void register_boost(nanobind::module_& m);
void register_blocks(nanobind::module_& m);
void register_ranking(nanobind::module_& m);
void register_predict(nanobind::module_& m);
void register_explain(nanobind::module_& m);
void register_stumps(nanobind::module_& m);
void register_linear(nanobind::module_& m);
void register_learners(nanobind::module_& m);
