/* A wave in a periodic box, in slabs, one for each rank: a program of its own with twelve calls to Sidestream.
 *
 *     mpicc wave.c -o wave $(pkg-config --cflags --libs sidestream)
 *     mpirun -n 4 ./wave analyses.toml runs/wave        once more: goes on from the newest checkpoint
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidestream.h"

enum { cells = 64, steps = 200 };

static double *field(int planes) {
  double *values = calloc((size_t)cells * cells * (size_t)(planes + 2), sizeof(double));
  if (values == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return values;
}

/* The plane before the first and after the last one, from the neighbours. */
static void fill_ghosts(double *u, int planes, MPI_Comm comm) {
  const int plane = cells * cells;
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int below = (rank + ranks - 1) % ranks, above = (rank + 1) % ranks;
  MPI_Sendrecv(u + plane, plane, MPI_DOUBLE, below, 0, u + (planes + 1) * plane, plane, MPI_DOUBLE, above, 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(u + planes * plane, plane, MPI_DOUBLE, above, 1, u, plane, MPI_DOUBLE, below, 1, comm,
               MPI_STATUS_IGNORE);
}

/* One step of the leapfrog scheme: `speed` is from one step to the next. */
static void advance(double *u, double *speed, int planes, double courant) {
  const int plane = cells * cells;
  for (int k = 1; k <= planes; ++k)
    for (int j = 0; j < cells; ++j)
      for (int i = 0; i < cells; ++i) {
        const double *at = u + k * plane;
        const int c = j * cells + i, west = j * cells + (i + cells - 1) % cells, east = j * cells + (i + 1) % cells,
                  south = (j + cells - 1) % cells * cells + i, north = (j + 1) % cells * cells + i;
        speed[k * plane + c] +=
            courant * courant *
            (at[west] + at[east] + at[south] + at[north] + at[c - plane] + at[c + plane] - 6.0 * at[c]);
      }
  for (int c = plane; c < (planes + 1) * plane; ++c) u[c] += speed[c];
}

static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  int threads; /* the transport "async" needs all that MPI allows */
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  if (argc != 3) return fprintf(stderr, "usage: wave CONFIG FOLDER\n"), MPI_Finalize(), 2;

  sidestream_options options = SIDESTREAM_OPTIONS;
  options.name = "wave";
  options.config = argv[1];
  options.folder = argv[2];
  options.existing = SIDESTREAM_RESUME;
  sidestream_session *run;
  MPI_Comm comm;
  check(sidestream_open(MPI_COMM_WORLD, &options, &run, &comm));

  if (comm != MPI_COMM_NULL) { /* else this rank was a sidecar, and the run is over */
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const int64_t first = (int64_t)cells * rank / ranks, planes = (int64_t)cells * (rank + 1) / ranks - first;
    double *u = field((int)planes), *speed = field((int)planes);
    for (int64_t k = 1; k <= planes; ++k)
      for (int j = 0; j < cells; ++j)
        for (int i = 0; i < cells; ++i) {
          const double x = i - 20.0, y = j - 30.0, z = (double)(first + k - 1) - 40.0;
          u[(k * cells + j) * cells + i] = exp(-0.02 * (x * x + y * y + z * z));
        }

    sidestream_mesh mesh = SIDESTREAM_MESH;
    const int64_t offset[3] = {0, 0, first}, extent[3] = {cells, cells, planes};
    for (int axis = 0; axis < 3; ++axis) {
      mesh.cells[axis] = cells;
      mesh.periodic[axis] = 1;
    }
    mesh.ghosts[2] = 1;
    mesh.count = 1;
    mesh.offsets = offset;
    mesh.extents = extent;
    check(sidestream_set_mesh(run, &mesh));
    check(sidestream_set_array(run, "height", "m", SIDESTREAM_FLOAT64, u));
    check(sidestream_set_array(run, "speed", "m", SIDESTREAM_FLOAT64, speed));

    double courant = 0.4, time = 0.0;
    int64_t step = 0;
    check(sidestream_add_knob(run, "courant", "of the steps", 0.0, 0.5, &courant));
    check(sidestream_begin(run, &step, &time));
    while (sidestream_goes_on(run) && step < steps) {
      fill_ghosts(u, (int)planes, comm);
      advance(u, speed, (int)planes, courant);
      time += courant;
      check(sidestream_set_progress(run, (double)(step + 1) / steps));
      check(sidestream_step(run, ++step, time));
    }
    free(u);
    free(speed);
  }
  check(sidestream_close(run));
  MPI_Finalize();
  return 0;
}
