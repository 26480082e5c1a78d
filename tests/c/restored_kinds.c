/* A run goes on with two kinds of particles: what is told of one stays when the other is asked for. Called without a
 * checkpoint it writes one. Ends with 0 if all is well, else it says what is not. */
#include <stdio.h>
#include <string.h>

#include "sidestream.h"

enum { cells = 4, count = 3 };

static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void set_kind(sidestream_session *run, const char *name, const int64_t *ids, const double *place,
                     size_t attributes, const char *const *names, const double *const *values) {
  sidestream_particles kind = SIDESTREAM_PARTICLES;
  kind.name = name;
  kind.count = count;
  kind.ids = ids;
  for (int axis = 0; axis < 3; ++axis) kind.positions[axis] = place;
  kind.attribute_count = attributes;
  kind.attributes = names;
  kind.values = values;
  check(sidestream_set_particles(run, &kind));
}

static int holds(const sidestream_particles *kind, const char *name, const char *attribute, const double *values) {
  if (strcmp(kind->name, name) != 0 || strcmp(kind->attributes[0], attribute) != 0) return 0;
  for (size_t p = 0; p < kind->count; ++p)
    if (kind->values[0][p] != values[kind->ids[p] % 10]) return 0;
  return kind->count == count;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return fprintf(stderr, "usage: restored_kinds CONFIG FOLDER\n"), MPI_Finalize(), 2;
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = argv[1];
  options.folder = argv[2];
  options.existing = SIDESTREAM_RESUME;
  options.is_quiet = 1;
  sidestream_session *run;
  MPI_Comm compute;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &compute));

  sidestream_mesh mesh = SIDESTREAM_MESH;
  const int64_t offset[3] = {0, 0, 0}, extent[3] = {cells, cells, cells};
  for (int axis = 0; axis < 3; ++axis) mesh.cells[axis] = cells, mesh.lengths[axis] = cells;
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  check(sidestream_set_mesh(run, &mesh));

  const int64_t gas[count] = {0, 1, 2}, stars[count] = {10, 11, 12};
  const double place[count] = {0.5, 1.5, 2.5}, heat[count] = {1, 2, 3}, age[count] = {4, 5, 6}, metal[count] = {7, 8, 9};
  const char *const of_gas[1] = {"heat"}, *const of_stars[2] = {"age", "metallicity"};
  const double *const heats[1] = {heat}, *const ages[2] = {age, metal};
  set_kind(run, "gas", gas, place, 1, of_gas, heats);
  set_kind(run, "stars", stars, place, 2, of_stars, ages);

  int64_t step = 0;
  double time = 0.0;
  check(sidestream_begin(run, &step, &time));
  int wrong = 0;
  if (step == 0) {
    check(sidestream_step(run, 1, 1.0));
  } else {
    sidestream_particles first = SIDESTREAM_PARTICLES, second = SIDESTREAM_PARTICLES;
    check(sidestream_restored_particles(run, "gas", &first));
    check(sidestream_restored_particles(run, "stars", &second));
    wrong = !holds(&first, "gas", "heat", heat) || !holds(&second, "stars", "age", age);
    if (wrong) fprintf(stderr, "%s: %s, %s: %s\n", first.name, first.attributes[0], second.name, second.attributes[0]);
  }
  check(sidestream_close(run));
  MPI_Finalize();
  return wrong;
}
