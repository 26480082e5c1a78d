/* A program of the first version of the interface, which uses each function and each structure of it. It goes on
 * whatever they answer, and tells what that was in the file told.RANK.
 *
 * usage: every_function CONFIG FOLDER */
#include <stdio.h>
#include <stdlib.h>

#include <sidestream.h> /* not by its place beside this file: later headers take its place in tests */

enum { n = 4, particles = 3 };

static FILE *told;
static int rank, ranks, heard;

static void say(const char *call, int status) { fprintf(told, "%s: %d\n", call, status); }
#define SAY(call) say(#call, sidestream_##call)

static void hear(const char *line, void *context) { *(int *)context += line[0] != '\0'; }

static void set_all(sidestream_session *run, double *height, double *speed, int64_t *ids, double *numbers) {
  const int64_t offset[3] = {0, 0, n * rank}, extent[3] = {n, n, n};
  const int level = 0;
  sidestream_mesh mesh = SIDESTREAM_MESH;
  mesh.cells[0] = mesh.cells[1] = n;
  mesh.cells[2] = (int64_t)n * ranks;
  for (int axis = 0; axis < 3; ++axis) {
    mesh.lengths[axis] = (double)mesh.cells[axis];
    mesh.periodic[axis] = 1;
    mesh.ghosts[axis] = 0;
  }
  mesh.length_unit = "m";
  mesh.count = 1;
  mesh.offsets = offset;
  mesh.extents = extent;
  mesh.levels = &level;
  SAY(set_mesh(run, &mesh));

  const int64_t strides[3] = {1, n, n * n};
  void *const blocks[1] = {height};
  sidestream_field field = SIDESTREAM_FIELD;
  field.name = "height";
  field.unit = "m";
  field.meaning = "of the water";
  field.type = SIDESTREAM_FLOAT64;
  field.is_state = 1;
  field.count = 1;
  field.blocks = blocks;
  field.strides = strides;
  field.shapes = extent;
  SAY(set_field(run, &field));
  SAY(set_array(run, "speed", "m/s", SIDESTREAM_FLOAT64, speed));

  const char *const attributes[1] = {"age"}, *const units[1] = {"s"};
  const double *const values[1] = {numbers + 3 * particles};
  sidestream_particles kind = SIDESTREAM_PARTICLES;
  kind.name = "tracers";
  kind.count = particles;
  kind.ids = ids;
  for (int axis = 0; axis < 3; ++axis) kind.positions[axis] = numbers + axis * particles;
  kind.attribute_count = 1;
  kind.attributes = attributes;
  kind.units = units;
  kind.values = values;
  kind.mass = 2.0;
  SAY(set_particles(run, &kind));
  SAY(set_number(run, "viscosity", 0.5));
  SAY(set_scale_factor(run, 0.25));
  SAY(set_scale_factor(run, -1.0));
  fprintf(told, "a message: %d\n", sidestream_last_message()[0] != '\0');
  SAY(set_progress(run, 0.5));
}

static void sessions(const char *config, const char *folder) {
  static double height[n * n * n], speed[n * n * n], numbers[4 * particles], knob = 0.5;
  static int64_t ids[particles];
  for (int p = 0; p < particles; ++p) {
    ids[p] = particles * rank + p;
    for (int axis = 0; axis < 3; ++axis) numbers[axis * particles + p] = 0.5 + p;
    numbers[3 * particles + p] = 10.0 + p;
  }
  for (int again = 0; again < 2; ++again) {
    const char *const overrides[1] = {"run.max_steps=4"};
    sidestream_options options = SIDESTREAM_OPTIONS;
    options.name = "every";
    options.config = config;
    options.folder = folder;
    options.existing = SIDESTREAM_RESUME;
    options.catches_signals = 0;
    options.is_quiet = 1;
    options.override_count = 1;
    options.overrides = overrides;
    options.job_program = "none";
    options.tell = hear;
    options.context = &heard;
    sidestream_session *run = NULL;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Fint handle = MPI_Comm_c2f(MPI_COMM_WORLD);
    if (again) {
      SAY(open_f(handle, &options, &run, &handle));
      comm = MPI_Comm_f2c(handle);
    } else {
      SAY(open(MPI_COMM_WORLD, &options, &run, &comm));
    }
    SAY(is_sidecar(run));
    MPI_Comm_rank(comm, &rank);
    for (int c = 0; c < n * n * n; ++c) height[c] = speed[c] = again ? 0.0 : 1.0 + c % 7 + rank;
    set_all(run, height, speed, ids, numbers);
    SAY(add_knob(run, "courant", "of the steps", 0.0, 1.0, &knob));
    int64_t step = 0;
    double time = 0.0, next = 0.0, sum = 0.0;
    SAY(begin(run, &step, &time));
    SAY(is_restarted(run));
    for (int c = 0; c < n * n * n; ++c) sum += height[c] + 100.0 * speed[c];
    fprintf(told, "begun: %d %g %g\n", (int)step, time, sum);
    sidestream_particles back = SIDESTREAM_PARTICLES;
    SAY(restored_particles(run, "tracers", &back));
    fprintf(told, "its size is as it was: %d\n", back.size == sizeof back);
    for (size_t p = 0; p < back.count; ++p)
      fprintf(told, "restored: %d %g %g %g\n", (int)back.ids[p], back.positions[0][p], back.positions[2][p],
              back.values[0][p]);
    for (int more = 0; more < 2; ++more) {
      int is_wanted = 0;
      SAY(goes_on(run));
      SAY(wants(run, "height", &is_wanted));
      SAY(next_time(run, time, &next));
      fprintf(told, "wanted: %d %g\n", is_wanted, next);
      for (int c = 0; c < n * n * n; ++c) height[c] += 1.0;
      SAY(progress(run));
      SAY(step(run, ++step, time += 1.0));
    }
    SAY(close(run));
  }
}

static void tell_numbers(const float *columns) {
  for (int c = 0; c < 4 * n; ++c) fprintf(told, "%g%c", columns[c], c + 1 < 4 * n ? ' ' : '\n');
}

/* Each rank owns two rows, and needs them with the ones before and after, as columns of floats. */
static void redistribution(void) {
  double rows[2][n];
  float columns[n * 4] = {0.0F};
  for (int row = 0; row < 2; ++row)
    for (int c = 0; c < n; ++c) rows[row][c] = 100.0 * (2 * rank + row) + c;
  sidestream_description description = SIDESTREAM_DESCRIPTION;
  description.dimensions = 2;
  description.cells[0] = n;
  description.cells[1] = 2 * ranks;
  description.periodic[1] = 1;
  description.rim[1] = 1;
  description.components = 1;
  description.allows_holes = 0;
  description.strategy = "p2p";
  const int64_t first[2] = {0, 2 * rank}, extent[2] = {n, 2}, strides[3] = {4, 1, 0};
  void *const own[1] = {rows[0]}, *const wanted[1] = {columns};
  sidestream_data *data = NULL;
  SAY(describe(&description, &data));
  sidestream_chunks chunks = SIDESTREAM_CHUNKS;
  chunks.count = 1;
  chunks.offsets = first;
  chunks.cells = extent;
  sidestream_memory from = SIDESTREAM_MEMORY, to = SIDESTREAM_MEMORY;
  from.count = to.count = 1;
  from.chunks = own;
  to.type = SIDESTREAM_FLOAT32;
  to.chunks = wanted;
  to.strides = strides;
  SAY(map(data, MPI_COMM_WORLD, &chunks, &chunks));
  SAY(reorganise(data, &from, &to));
  tell_numbers(columns);
  SAY(map_f(data, MPI_Comm_c2f(MPI_COMM_WORLD), &chunks, &chunks));
  for (int c = 0; c < 4 * n; ++c) columns[c] = 0.0F;
  int is_done = 0;
  uint64_t bytes = 0;
  SAY(start(data, &from, &to));
  SAY(test(data, &is_done)); /* which may be done or not */
  SAY(finish(data));
  tell_numbers(columns);
  SAY(sent_bytes(data, SIDESTREAM_FLOAT64, &bytes));
  fprintf(told, "bytes: %d\n", (int)bytes);
  SAY(free(data));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return fprintf(stderr, "usage: every_function CONFIG FOLDER\n"), MPI_Finalize(), 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char name[16];
  snprintf(name, sizeof name, "told.%d", rank);
  told = fopen(name, "w");
  if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  sessions(argv[1], argv[2]);
  redistribution();
  fprintf(told, "words: %d %d %d\n", sidestream_version()[0] != '\0', sidestream_mpi()[0] != '\0',
          sidestream_error_text(SIDESTREAM_REFUSED)[0] != '\0');
  fclose(told);
  MPI_Finalize();
  return 0;
}
