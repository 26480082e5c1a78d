/* The C interface, as a program of C11: rows to quadrants on any ranks, strided memory, errors. Ends with 0 if all is
 * well, else it says what is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sidestream.h"

static int rank, ranks, failures;

static void expect(int is_so, const char *what) {
  if (is_so) return;
  ++failures;
  fprintf(stderr, "rank %d: not so: %s (last message: %s)\n", rank, what, sidestream_last_message());
}

static double value_at(int64_t x, int64_t y) { return (double)(100 * y + x); }

static sidestream_data *described(int64_t columns, int64_t rows) {
  sidestream_description description = SIDESTREAM_DESCRIPTION;
  description.dimensions = 2;
  description.cells[0] = columns;
  description.cells[1] = rows;
  sidestream_data *data = NULL;
  expect(sidestream_describe(&description, &data) == SIDESTREAM_OK && data != NULL, "data are described");
  return data;
}

/* Each rank owns two rows out of each 2 * ranks, and needs the whole as floats, transposed in memory. */
static void rows_to_the_whole(int by_fortran_handle) {
  enum { columns = 8, turns = 2 };
  const int64_t rows = 2 * turns * ranks;
  int64_t offsets[turns][2], cells[turns][2];
  double chunks[turns][2][columns];
  void *memory[turns];
  for (int64_t turn = 0; turn < turns; ++turn) {
    offsets[turn][0] = 0;
    offsets[turn][1] = 2 * (turn * ranks + rank);
    cells[turn][0] = columns;
    cells[turn][1] = 2;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t column = 0; column < columns; ++column)
        chunks[turn][row][column] = value_at(column, offsets[turn][1] + row);
    memory[turn] = chunks[turn];
  }
  const sidestream_chunks owned = {sizeof owned, turns, offsets[0], cells[0]};
  const int64_t origin[2] = {0, 0}, all[2] = {columns, rows}, strides[3] = {rows, 1, 0};
  const sidestream_chunks needed = {sizeof needed, 1, origin, all};
  float *const whole = malloc((size_t)(columns * rows) * sizeof *whole);
  void *place = whole;
  const sidestream_memory from = {sizeof from, SIDESTREAM_FLOAT64, turns, memory, NULL};
  const sidestream_memory to = {sizeof to, SIDESTREAM_FLOAT32, 1, &place, strides};

  sidestream_data *data = described(columns, rows);
  const int status = by_fortran_handle ? sidestream_map_f(data, MPI_Comm_c2f(MPI_COMM_WORLD), &owned, &needed)
                                       : sidestream_map(data, MPI_COMM_WORLD, &owned, &needed);
  expect(status == SIDESTREAM_OK, "chunks are mapped");
  for (int time = 0; time < 2; ++time) {
    memset(whole, 0, (size_t)(columns * rows) * sizeof *whole);
    if (time == 0) {
      expect(sidestream_reorganise(data, &from, &to) == SIDESTREAM_OK, "data are reorganised");
    } else {
      int is_done = 0;
      expect(sidestream_start(data, &from, &to) == SIDESTREAM_OK, "a movement is started");
      while (!is_done && sidestream_test(data, &is_done) == SIDESTREAM_OK) continue;
      expect(sidestream_finish(data) == SIDESTREAM_OK, "a movement is finished");
    }
    int wrong = 0;
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row) wrong += whole[column * rows + row] != (float)value_at(column, row);
    expect(wrong == 0, "every cell is there");
  }
  uint64_t bytes = 0;
  expect(sidestream_sent_bytes(data, SIDESTREAM_FLOAT64, &bytes) == SIDESTREAM_OK, "bytes are told");
  expect(bytes == (uint64_t)(turns * 2 * columns * 8 * (ranks - 1)), "all that a rank owns goes to each other rank");
  expect(sidestream_free(data) == SIDESTREAM_OK, "data are freed");
  free(whole);
}

/* Two components and a rim in memory around what is owned. */
static void rims_in_place(void) {
  enum { cells = 5, rim = 2, width = cells + 2 * rim };
  sidestream_description description = SIDESTREAM_DESCRIPTION;
  description.dimensions = 1;
  description.cells[0] = cells * ranks;
  description.periodic[0] = 1;
  description.rim[0] = rim;
  description.components = 2;
  description.strategy = "p2p";
  sidestream_data *data = NULL;
  expect(sidestream_describe(&description, &data) == SIDESTREAM_OK, "data with a rim are described");
  const int64_t offset = cells * rank, count = cells, strides[2] = {1, width};
  const sidestream_chunks own = {sizeof own, 1, &offset, &count};
  expect(sidestream_map(data, MPI_COMM_WORLD, &own, &own) == SIDESTREAM_OK, "chunks with rims are mapped");
  int64_t values[2][width];
  for (int c = 0; c < 2; ++c)
    for (int n = 0; n < width; ++n) values[c][n] = n < rim || n >= rim + cells ? -1 : 1000 * c + cells * rank + n - rim;
  void *inner = &values[0][rim], *whole = values;
  const sidestream_memory from = {sizeof from, SIDESTREAM_INT64, 1, &inner, strides};
  const sidestream_memory to = {sizeof to, SIDESTREAM_INT64, 1, &whole, NULL};
  expect(sidestream_reorganise(data, &from, &to) == SIDESTREAM_OK, "rims are filled");
  int wrong = 0;
  for (int c = 0; c < 2; ++c)
    for (int n = 0; n < width; ++n) {
      const int64_t cell = (cells * rank + n - rim + cells * ranks) % (cells * ranks);
      wrong += values[c][n] != 1000 * c + cell;
    }
  expect(wrong == 0, "rims come from the neighbours");
  sidestream_free(data);
}

static void expect_refused(int status, int expected, const char *words) {
  expect(status == expected, words);
  expect(strstr(sidestream_last_message(), words) != NULL, words);
}

static void errors(void) {
  sidestream_data *data = NULL;
  sidestream_description description = SIDESTREAM_DESCRIPTION;
  expect_refused(sidestream_describe(NULL, &data), SIDESTREAM_BAD_ARGUMENT, "`description` is NULL");
  expect_refused(sidestream_describe(&description, NULL), SIDESTREAM_BAD_ARGUMENT, "`data` is NULL");
  description.size = 8;
  expect_refused(sidestream_describe(&description, &data), SIDESTREAM_BAD_ARGUMENT, "`size` of a sidestream_description");
  description.size = sizeof description;
  description.dimensions = 4;
  expect_refused(sidestream_describe(&description, &data), SIDESTREAM_BAD_ARGUMENT, "4 dimensions");
  description.dimensions = 2;
  description.strategy = "p2q";
  expect_refused(sidestream_describe(&description, &data), SIDESTREAM_REFUSED, "p2p");
  description.strategy = NULL;
  description.cells[0] = INT64_C(1) << 40;
  expect_refused(sidestream_describe(&description, &data), SIDESTREAM_REFUSED, "beyond 2^30");
  expect(data == NULL, "nothing is made of a wrong description");

  data = described(8, 8);
  expect_refused(sidestream_map(data, MPI_COMM_NULL, NULL, NULL), SIDESTREAM_REFUSED, "there is no communicator");
  expect_refused(sidestream_map(NULL, MPI_COMM_WORLD, NULL, NULL), SIDESTREAM_BAD_ARGUMENT, "`data` is NULL");
  expect_refused(sidestream_reorganise(data, NULL, NULL), SIDESTREAM_BAD_ARGUMENT, "no mapping");
  expect_refused(sidestream_map(rank == ranks - 1 ? NULL : data, MPI_COMM_WORLD, NULL, NULL),
                 rank == ranks - 1 ? SIDESTREAM_BAD_ARGUMENT : SIDESTREAM_REFUSED, "`data` is NULL");
  /* Wrong on the last rank alone: an error on all. */
  const int64_t offsets[2][2] = {{0, 0}, {0, 0}}, cells[2][2] = {{8, 8}, {8, 8}};
  sidestream_chunks owned = {sizeof owned, rank == 0 ? 1 : 0, offsets[0], cells[0]}, needed = owned;
  if (rank == ranks - 1) needed.size = 1;
  expect_refused(sidestream_map(data, MPI_COMM_WORLD, &owned, &needed), SIDESTREAM_REFUSED, "sidestream_chunks is 1");
  needed.size = sizeof needed;
  needed.count = 2;
  if (rank == ranks - 1) needed.cells = NULL;
  expect_refused(sidestream_map(data, MPI_COMM_WORLD, &owned, &needed), SIDESTREAM_REFUSED, "without `cells`");
  needed.cells = cells[0];
  if (rank == ranks - 1) owned.count = 2;
  expect_refused(sidestream_map(data, MPI_COMM_WORLD, &owned, &needed), SIDESTREAM_REFUSED, "overlap in [0 0 0, 8 8 1)");
  owned.count = rank == 0 ? 1 : 0;
  expect(sidestream_map(data, MPI_COMM_WORLD, &owned, &needed) == SIDESTREAM_OK, "after errors, a map that is right");

  static double all[64], copies[2][64];
  for (int n = 0; n < 64; ++n) all[n] = n;
  void *source = all, *targets[2] = {copies[0], copies[1]};
  sidestream_memory from = {sizeof from, SIDESTREAM_FLOAT64, owned.count, &source, NULL};
  sidestream_memory to = {sizeof to, SIDESTREAM_FLOAT64, rank == ranks - 1 ? 1 : 2, targets, NULL};
  expect_refused(sidestream_reorganise(data, &from, &to), SIDESTREAM_REFUSED, "1 pieces of memory for 2 needed chunks");
  to.count = 2;
  if (rank == ranks - 1) to.type = (sidestream_type)99;
  expect_refused(sidestream_reorganise(data, &from, &to), SIDESTREAM_REFUSED, "no sidestream_type 99");
  to.type = SIDESTREAM_FLOAT64;
  const int64_t one_place[2][3] = {{0, 0, 0}, {0, 0, 0}};
  to.strides = one_place[0];
  expect_refused(sidestream_reorganise(data, &from, &to), SIDESTREAM_REFUSED, "lie in one place");
  to.strides = NULL;
  expect(sidestream_reorganise(data, &from, &to) == SIDESTREAM_OK, "after errors, data are reorganised");
  expect(memcmp(copies[0], all, sizeof all) == 0 && memcmp(copies[1], all, sizeof all) == 0, "both chunks are filled");
  expect_refused(sidestream_finish(data), SIDESTREAM_REFUSED, "no exchange of this mapping is under way");
  expect(sidestream_free(data) == SIDESTREAM_OK && sidestream_free(NULL) == SIDESTREAM_OK, "data are freed");
  for (int status = SIDESTREAM_OK; status <= SIDESTREAM_INTERNAL; ++status)
    expect(strlen(sidestream_error_text(status)) > 5, "each status has a text");
  expect(strcmp(sidestream_error_text(77), "not a status of Sidestream") == 0, "77 is no status");
}

int main(int argc, char **argv) {
  sidestream_data *early = described(8, 8);
  expect_refused(sidestream_map(early, MPI_COMM_WORLD, NULL, NULL), SIDESTREAM_BAD_ARGUMENT, "MPI is not running");
  sidestream_free(early);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rows_to_the_whole(0);
  rows_to_the_whole(1);
  rims_in_place();
  errors();
  sidestream_data *late = described(8, 8);
  expect(sidestream_map(late, MPI_COMM_WORLD, NULL, NULL) == SIDESTREAM_OK, "nothing is mapped to nothing");
  int total = 0;
  MPI_Allreduce(&failures, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  failures = 0;
  expect_refused(sidestream_reorganise(late, NULL, NULL), SIDESTREAM_BAD_ARGUMENT, "MPI is not running");
  expect_refused(sidestream_finish(late), SIDESTREAM_BAD_ARGUMENT, "MPI is not running");
  expect_refused(sidestream_free(late), SIDESTREAM_BAD_ARGUMENT, "MPI is not running");
  return total == 0 && failures == 0 ? 0 : 1;
}
