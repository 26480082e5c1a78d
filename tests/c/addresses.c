/* Analyses are handed the cells of a program in C where they lie: two blocks a rank, with ghost cells and with strides,
 * and after they have moved. Ends with 0 if all is well, else it says what is not. */
#include <stdio.h>
#include <stdlib.h>

#include "handed.h"
#include "sidestream.h"

enum { nx = 6, ny = 4, nz = 3, blocks = 2 }; /* of each block, and blocks of a rank, one above the other */

static int rank, ranks;
static int64_t offsets[blocks][3];

static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void set_mesh(sidestream_session *run, const int64_t *ghosts) {
  static const int64_t extents[blocks][3] = {{nx, ny, nz}, {nx, ny, nz}};
  sidestream_mesh mesh = SIDESTREAM_MESH;
  mesh.cells[0] = nx;
  mesh.cells[1] = ny;
  mesh.cells[2] = (int64_t)blocks * nz * ranks;
  mesh.count = blocks;
  for (int b = 0; b < blocks; ++b) offsets[b][2] = (int64_t)nz * (blocks * rank + b);
  mesh.offsets = offsets[0];
  mesh.extents = extents[0];
  for (int axis = 0; axis < 3; ++axis) mesh.ghosts[axis] = ghosts[axis];
  check(sidestream_set_mesh(run, &mesh));
}

static void expect_handed(double *const *first, const int64_t *ghosts, const int64_t *strides, const char *what) {
  int wrong = handed_count() != (size_t)(blocks * nx * ny * nz);
  for (int b = 0; b < blocks; ++b)
    for (int64_t k = 0; k < nz; ++k)
      for (int64_t j = 0; j < ny; ++j)
        for (int64_t i = 0; i < nx; ++i) {
          const double *const own =
              first[b] + (i + ghosts[0]) * strides[0] + (j + ghosts[1]) * strides[1] + (k + ghosts[2]) * strides[2];
          wrong += handed_cell(i, j, k + offsets[b][2]) != own;
        }
  if (wrong == 0) return;
  fprintf(stderr, "rank %d, %s: %d cells are not handed where they lie\n", rank, what, wrong);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) return fprintf(stderr, "usage: addresses CONFIG FOLDER\n"), MPI_Finalize(), 2;
  handed_install();
  sidestream_options options = SIDESTREAM_OPTIONS;
  options.config = argv[1];
  options.folder = argv[2];
  options.existing = SIDESTREAM_OVERWRITE;
  options.is_quiet = 1;
  sidestream_session *run;
  MPI_Comm comm;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &comm));

  const int64_t ghosts[3] = {2, 1, 3}, none[3] = {0, 0, 0};
  const int64_t packed[3] = {1, nx + 4, (nx + 4) * (ny + 2)}, wide[3] = {1, nx + 5, (nx + 5) * (ny + 7)};
  enum { room = (nx + 5) * (ny + 7) * (nz + 6) }; /* enough for either */
  double *memory[2 * blocks];
  for (int n = 0; n < 2 * blocks; ++n)
    if ((memory[n] = calloc(room, sizeof(double))) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);

  int64_t step = 0;
  double time = 0.0;
  sidestream_field field = SIDESTREAM_FIELD;
  field.name = "height";
  field.count = blocks;
  for (int moves = 0; moves < 2; ++moves) {
    double *const *const first = memory + moves * blocks;
    void *const places[blocks] = {first[0], first[1]};
    set_mesh(run, ghosts);
    field.blocks = places;
    field.strides = NULL;
    check(sidestream_set_field(run, &field));
    check(moves == 0 ? sidestream_begin(run, &step, &time) : sidestream_step(run, ++step, time += 1.0));
    expect_handed(first, ghosts, packed, "with ghost cells");

    const int64_t strides[blocks][3] = {{wide[0], wide[1], wide[2]}, {wide[0], wide[1], wide[2]}};
    set_mesh(run, none);
    field.strides = strides[0];
    check(sidestream_set_field(run, &field));
    check(sidestream_step(run, ++step, time += 1.0));
    expect_handed(first, none, wide, "with strides");
  }
  check(sidestream_close(run));
  for (int n = 0; n < 2 * blocks; ++n) free(memory[n]);
  MPI_Finalize();
  return 0;
}
