/* An 8 x 8 array of which each of four ranks owns two rows, 0 and 4 on rank 0, and needs one quadrant: example E1 of the
 * paper on the redistribution library DDR (Marrinan et al. 2019).
 *
 * usage: mpicc quadrants.c -lsidestream -o quadrants && mpirun -n 4 ./quadrants */
#include <stdio.h>
#include <stdlib.h>

#include "sidestream.h"

static void check(int status) {
  if (status == SIDESTREAM_OK) return;
  fprintf(stderr, "%s\n", sidestream_last_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 4) {
    fprintf(stderr, "this example takes four ranks: mpirun -n 4\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  double near[8], far[8], quadrant[16];
  for (int x = 0; x < 8; ++x) {
    near[x] = 8 * rank + x;
    far[x] = 8 * (rank + 4) + x;
  }

  /* Axes in the order x, y. */
  const int64_t owned_offsets[2][2] = {{0, rank}, {0, rank + 4}}, owned_cells[2][2] = {{8, 1}, {8, 1}};
  const int64_t needed_offset[2] = {4 * (rank % 2), 4 * (rank / 2)}, needed_cells[2] = {4, 4};
  void *rows[2] = {near, far}, *block = quadrant;

  sidestream_description description = SIDESTREAM_DESCRIPTION;
  description.dimensions = 2;
  description.cells[0] = description.cells[1] = 8;
  sidestream_data *data;
  check(sidestream_describe(&description, &data));

  sidestream_chunks owned = SIDESTREAM_CHUNKS, needed = SIDESTREAM_CHUNKS;
  owned.count = 2;
  owned.offsets = owned_offsets[0];
  owned.cells = owned_cells[0];
  needed.count = 1;
  needed.offsets = needed_offset;
  needed.cells = needed_cells;
  check(sidestream_map(data, MPI_COMM_WORLD, &owned, &needed));

  sidestream_memory from = SIDESTREAM_MEMORY, to = SIDESTREAM_MEMORY;
  from.count = 2;
  from.chunks = rows;
  to.count = 1;
  to.chunks = &block;
  check(sidestream_reorganise(data, &from, &to));
  check(sidestream_free(data));

  char line[128];
  int length = snprintf(line, sizeof line, "rank %d has", rank);
  for (int n = 0; n < 16; ++n)
    length += snprintf(line + length, sizeof line - (size_t)length, " %.0f", quadrant[n]);
  puts(line);
  MPI_Finalize();
  return 0;
}
