#include <mpi.h>

#include <iterator>
#include <string_view>

#include "blocks.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "step.hpp"

namespace sidestream::bindings {

namespace {

// The MPI that this was built for, as its library calls itself.
#if defined(OPEN_MPI)
constexpr const char* mpi_family = "Open MPI";
#elif defined(MPICH_VERSION)
constexpr const char* mpi_family = "MPICH";
#else
constexpr const char* mpi_family = "";
#endif

// `_core.Error`: a wrong argument is a ValueError, anything else that goes wrong a RuntimeError; an Error is both.
nb::object make_error_class(nb::module_& module) {
  const nb::tuple bases = nb::make_tuple(nb::handle(PyExc_ValueError), nb::handle(PyExc_RuntimeError));
  nb::object error = nb::steal(PyErr_NewExceptionWithDoc(
      "sidestream._core.Error", "What was wrong, where, and what to do about it.", bases.ptr(), nullptr));
  module.attr("Error") = error;
  return error;
}

void translate(const std::exception_ptr& thrown, void* error_class) {
  try {
    std::rethrow_exception(thrown);
  } catch (const core::Error& error) {
    const std::string_view text = error.what();  // with what a damaged file has for names
    const nb::object words = nb::steal(PyUnicode_DecodeUTF8(text.data(), std::ssize(text), "replace"));
    PyErr_SetObject(static_cast<PyObject*>(error_class), words.ptr());
  }
}

void finalize_mpi() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (!is_finalized) MPI_Finalize();
}

}  // namespace

void ensure_mpi() {
  int is_initialized = 0, is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (is_finalized) throw core::Error("MPI has been finalised already", "", "do this before `MPI.Finalize()`");
  if (is_initialized) return;
  int provided = MPI_THREAD_SINGLE;
  comm::check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(finalize_mpi));
}

}  // namespace sidestream::bindings

NB_MODULE(_core, module) {
  using namespace sidestream::bindings;
  module.doc() = "The compiled part of sidestream.";
  module.attr("mpi_family") = mpi_family;
  nb::register_exception_translator(translate, make_error_class(module).release().ptr());
  bind_blocks(module);
  bind_analysis(module);
  bind_array_files(module);
  bind_merge_tree(module);
  bind_io(module);
  bind_session(module);
  bind_program(module);
  bind_step(module);
  bind_stream(module);
  bind_derived(module);
  bind_fft(module);
  bind_data_mapping(module);
  bind_particles(module);
}
