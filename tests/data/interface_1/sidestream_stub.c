/* sidestream.h for programs that are to be built and to run where Sidestream may not be installed: compile this file
 * into the program instead of linking the library. Where SIDESTREAM_LIBRARY names the library, or the loader finds it,
 * calls go there; else those of sessions succeed and do nothing, so that the program runs as it would by itself, and
 * those of redistribution are refused.
 *
 *     mpicc solver.c sidestream_stub.c -o solver -ldl
 *
 *     mpicc -c sidestream_stub.c
 *     mpif90 sidestream.f90 solver.f90 sidestream_stub.o -o solver -ldl
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidestream.h"

static void *library;
static char message[1024];

static int refuse(const char *text, const char *detail) {
  snprintf(message, sizeof message, "%s%s%s", text, detail[0] != '\0' ? ": " : "", detail);
  return SIDESTREAM_REFUSED;
}

/* Pointers to functions come as pointers to data. */
typedef void (*any_function)(void);
static any_function found(const char *name) {
  void *const place = library != NULL ? dlsym(library, name) : NULL;
  any_function function = NULL;
  memcpy(&function, &place, sizeof function);
  return function;
}

/* A library of another MPI would take handles for what they are not. */
static int check_mpi(void) {
  const char *(*mpi)(void) = (const char *(*)(void))found("sidestream_mpi");
  if (mpi == NULL) return refuse("the library is older than this program", "take a newer Sidestream");
  char running[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(running, &length);
  if (strstr(running, mpi()) != NULL) return SIDESTREAM_OK;
  running[strcspn(running, ",\n")] = '\0';
  snprintf(message, sizeof message, "the library was built for %s, and the program runs %s\nhint: install the library of that MPI",
           mpi(), running);
  return SIDESTREAM_REFUSED;
}

static int load(void) {
  if (library != NULL) return SIDESTREAM_OK;
  const char *const named = getenv("SIDESTREAM_LIBRARY");
  library = dlopen(named != NULL ? named : "libsidestream.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return named != NULL ? refuse("SIDESTREAM_LIBRARY cannot be loaded", dlerror()) : SIDESTREAM_OK;
  const int status = check_mpi();
  if (status != SIDESTREAM_OK) {
    dlclose(library);
    library = NULL;
  }
  return status;
}

/* Calls a function of the library if it is there; else `otherwise` is the answer. */
#define PASS(name, types, arguments, otherwise)               \
  do {                                                        \
    int(*its) types = (int(*) types)found(#name);             \
    return its != NULL ? its arguments : (otherwise);         \
  } while (0)

int sidestream_open(MPI_Comm comm, const sidestream_options *options, sidestream_session **session, MPI_Comm *compute) {
  const int status = load();
  if (status != SIDESTREAM_OK) return status;
  if (library == NULL) {
    if (session == NULL || compute == NULL) return refuse("`session` or `compute` is NULL", "give where it lies");
    *session = NULL;
    *compute = comm;
  }
  PASS(sidestream_open, (MPI_Comm, const sidestream_options *, sidestream_session **, MPI_Comm *),
       (comm, options, session, compute), SIDESTREAM_OK);
}

int sidestream_open_f(MPI_Fint comm, const sidestream_options *options, sidestream_session **session,
                      MPI_Fint *compute) {
  const int status = load();
  if (status != SIDESTREAM_OK) return status;
  if (library == NULL) {
    if (session == NULL || compute == NULL) return refuse("`session` or `compute` is NULL", "give where it lies");
    *session = NULL;
    *compute = comm;
  }
  PASS(sidestream_open_f, (MPI_Fint, const sidestream_options *, sidestream_session **, MPI_Fint *),
       (comm, options, session, compute), SIDESTREAM_OK);
}

int sidestream_is_sidecar(const sidestream_session *session) {
  PASS(sidestream_is_sidecar, (const sidestream_session *), (session), 0);
}

int sidestream_set_mesh(sidestream_session *session, const sidestream_mesh *mesh) {
  PASS(sidestream_set_mesh, (sidestream_session *, const sidestream_mesh *), (session, mesh), SIDESTREAM_OK);
}

int sidestream_set_field(sidestream_session *session, const sidestream_field *field) {
  PASS(sidestream_set_field, (sidestream_session *, const sidestream_field *), (session, field), SIDESTREAM_OK);
}

int sidestream_set_array(sidestream_session *session, const char *name, const char *unit, sidestream_type type,
                         void *array) {
  PASS(sidestream_set_array, (sidestream_session *, const char *, const char *, sidestream_type, void *),
       (session, name, unit, type, array), SIDESTREAM_OK);
}

int sidestream_set_particles(sidestream_session *session, const sidestream_particles *particles) {
  PASS(sidestream_set_particles, (sidestream_session *, const sidestream_particles *), (session, particles),
       SIDESTREAM_OK);
}

int sidestream_restored_particles(sidestream_session *session, const char *name, sidestream_particles *particles) {
  PASS(sidestream_restored_particles, (sidestream_session *, const char *, sidestream_particles *),
       (session, name, particles), refuse("no particles came from a checkpoint", name != NULL ? name : ""));
}

int sidestream_set_number(sidestream_session *session, const char *name, double value) {
  PASS(sidestream_set_number, (sidestream_session *, const char *, double), (session, name, value), SIDESTREAM_OK);
}

int sidestream_set_scale_factor(sidestream_session *session, double scale_factor) {
  PASS(sidestream_set_scale_factor, (sidestream_session *, double), (session, scale_factor), SIDESTREAM_OK);
}

int sidestream_set_progress(sidestream_session *session, double progress) {
  PASS(sidestream_set_progress, (sidestream_session *, double), (session, progress), SIDESTREAM_OK);
}

int sidestream_add_knob(sidestream_session *session, const char *name, const char *meaning, double minimum,
                        double maximum, double *value) {
  PASS(sidestream_add_knob, (sidestream_session *, const char *, const char *, double, double, double *),
       (session, name, meaning, minimum, maximum, value), SIDESTREAM_OK);
}

int sidestream_begin(sidestream_session *session, int64_t *step, double *time) {
  PASS(sidestream_begin, (sidestream_session *, int64_t *, double *), (session, step, time), SIDESTREAM_OK);
}

int sidestream_is_restarted(const sidestream_session *session) {
  PASS(sidestream_is_restarted, (const sidestream_session *), (session), 0);
}

int sidestream_goes_on(const sidestream_session *session) {
  PASS(sidestream_goes_on, (const sidestream_session *), (session), 1);
}

int sidestream_wants(const sidestream_session *session, const char *name, int *is_wanted) {
  if (found("sidestream_wants") == NULL) {
    if (is_wanted == NULL) return refuse("`is_wanted` is NULL", "give where it lies");
    *is_wanted = 0;
  }
  PASS(sidestream_wants, (const sidestream_session *, const char *, int *), (session, name, is_wanted), SIDESTREAM_OK);
}

int sidestream_next_time(const sidestream_session *session, double time, double *next) {
  if (found("sidestream_next_time") == NULL) {
    if (next == NULL) return refuse("`next` is NULL", "give where it lies");
    *next = INFINITY;
  }
  PASS(sidestream_next_time, (const sidestream_session *, double, double *), (session, time, next), SIDESTREAM_OK);
}

int sidestream_step(sidestream_session *session, int64_t step, double time) {
  PASS(sidestream_step, (sidestream_session *, int64_t, double), (session, step, time), SIDESTREAM_OK);
}

int sidestream_progress(sidestream_session *session) {
  PASS(sidestream_progress, (sidestream_session *), (session), SIDESTREAM_OK);
}

int sidestream_close(sidestream_session *session) {
  PASS(sidestream_close, (sidestream_session *), (session), SIDESTREAM_OK);
}

/* Nothing moves without the library. */
static int refuse_to_move(void) {
  return refuse("arrays are moved by the library, which is not there", "name it by SIDESTREAM_LIBRARY");
}

int sidestream_describe(const sidestream_description *description, sidestream_data **data) {
  const int status = load();
  if (status != SIDESTREAM_OK) return status;
  PASS(sidestream_describe, (const sidestream_description *, sidestream_data **), (description, data),
       refuse_to_move());
}

int sidestream_map(sidestream_data *data, MPI_Comm comm, const sidestream_chunks *owned,
                   const sidestream_chunks *needed) {
  PASS(sidestream_map, (sidestream_data *, MPI_Comm, const sidestream_chunks *, const sidestream_chunks *),
       (data, comm, owned, needed), refuse_to_move());
}

int sidestream_map_f(sidestream_data *data, MPI_Fint comm, const sidestream_chunks *owned,
                     const sidestream_chunks *needed) {
  PASS(sidestream_map_f, (sidestream_data *, MPI_Fint, const sidestream_chunks *, const sidestream_chunks *),
       (data, comm, owned, needed), refuse_to_move());
}

int sidestream_reorganise(sidestream_data *data, const sidestream_memory *owned, const sidestream_memory *needed) {
  PASS(sidestream_reorganise, (sidestream_data *, const sidestream_memory *, const sidestream_memory *),
       (data, owned, needed), refuse_to_move());
}

int sidestream_start(sidestream_data *data, const sidestream_memory *owned, const sidestream_memory *needed) {
  PASS(sidestream_start, (sidestream_data *, const sidestream_memory *, const sidestream_memory *),
       (data, owned, needed), refuse_to_move());
}

int sidestream_finish(sidestream_data *data) {
  PASS(sidestream_finish, (sidestream_data *), (data), refuse_to_move());
}

int sidestream_test(sidestream_data *data, int *is_done) {
  PASS(sidestream_test, (sidestream_data *, int *), (data, is_done), refuse_to_move());
}

int sidestream_sent_bytes(const sidestream_data *data, sidestream_type type, uint64_t *bytes) {
  PASS(sidestream_sent_bytes, (const sidestream_data *, sidestream_type, uint64_t *), (data, type, bytes),
       refuse_to_move());
}

int sidestream_free(sidestream_data *data) {
  PASS(sidestream_free, (sidestream_data *), (data), SIDESTREAM_OK);
}

const char *sidestream_last_message(void) {
  const char *(*its)(void) = (const char *(*)(void))found("sidestream_last_message");
  return its != NULL ? its() : message;
}

const char *sidestream_error_text(int status) {
  const char *(*its)(int) = (const char *(*)(int))found("sidestream_error_text");
  return its != NULL ? its(status) : status == SIDESTREAM_OK ? "all is well" : "what was asked for cannot be done";
}

const char *sidestream_version(void) {
  const char *(*its)(void) = (const char *(*)(void))found("sidestream_version");
  return its != NULL ? its() : "none";
}

const char *sidestream_mpi(void) {
  const char *(*its)(void) = (const char *(*)(void))found("sidestream_mpi");
  return its != NULL ? its() : "none";
}
