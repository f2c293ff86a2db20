// One init function for each file with Python classes or functions; module.cpp calls all of them.
#pragma once
#include <nanobind/nanobind.h>

namespace entrepot::python {

void init_errors(nanobind::module_ &m);
void init_dtype(nanobind::module_ &m);
void init_device(nanobind::module_ &m);
void init_scalar(nanobind::module_ &m);
void init_array(nanobind::module_ &m);
void init_create(nanobind::module_ &m);
void init_array_handle(nanobind::module_ &m);
void init_launch(nanobind::module_ &m);
void init_graph(nanobind::module_ &m);
void init_kernel(nanobind::module_ &m);
void init_struct_layout(nanobind::module_ &m);
void init_code_cache(nanobind::module_ &m);
void init_c_api(nanobind::module_ &m);
void init_foreign_allocator(nanobind::module_ &m);
void init_memory(nanobind::module_ &m);
void init_usm_memory(nanobind::module_ &m);
void init_ffi(nanobind::module_ &m);
void init_adapters(nanobind::module_ &m);

}  // namespace entrepot::python
