/* Sidestream for C, and through apps/fortran/sidestream.f90 for Fortran.
 *
 * Every function returns a status: SIDESTREAM_OK or what kind of error it was. Nothing here ends the program, prints or
 * throws. Structures begin with their size, which says which version of this header the caller was compiled with:
 *
 *     sidestream_description description = SIDESTREAM_DESCRIPTION;
 *
 * Functions that all ranks of a communicator must call say "collective"; where one rank's arguments are wrong, all
 * ranks return the same error. A rank whose data are NULL is heard of in sidestream_map, which has the communicator.
 */
#ifndef SIDESTREAM_H
#define SIDESTREAM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SIDESTREAM_PUBLIC __attribute__((visibility("default")))
#else
#define SIDESTREAM_PUBLIC
#endif

typedef enum sidestream_status {
  SIDESTREAM_OK = 0,
  SIDESTREAM_BAD_ARGUMENT = 1, /* what no caller may give: a null pointer, a structure of no version, no such type */
  SIDESTREAM_REFUSED = 2,      /* sidestream_last_message says what was wrong, where, and what to do */
  SIDESTREAM_NO_MEMORY = 3,
  SIDESTREAM_INTERNAL = 4 /* an error of Sidestream itself */
} sidestream_status;

/* A few words on a status, for as long as the program runs. */
SIDESTREAM_PUBLIC const char *sidestream_error_text(int status);
/* What was wrong in the last call of this thread that failed, in up to three lines; valid until its next call. */
SIDESTREAM_PUBLIC const char *sidestream_last_message(void);
/* "0.1.0" */
SIDESTREAM_PUBLIC const char *sidestream_version(void);

/* ---- Redistribution: arrays in chunks, moved from the ranks that own them to those that need them ---- */

/* Whatever number a caller gives is looked at: C++ has to be told that it may be any. */
#ifdef __cplusplus
typedef enum sidestream_type : unsigned {
#else
typedef enum sidestream_type {
#endif
  SIDESTREAM_FLOAT32 = 0,
  SIDESTREAM_FLOAT64 = 1,
  SIDESTREAM_COMPLEX64 = 2,
  SIDESTREAM_COMPLEX128 = 3,
  SIDESTREAM_INT32 = 4,
  SIDESTREAM_INT64 = 5,
  SIDESTREAM_INT8 = 6,
  SIDESTREAM_INT16 = 7,
  SIDESTREAM_UINT8 = 8,
  SIDESTREAM_UINT16 = 9,
  SIDESTREAM_UINT32 = 10,
  SIDESTREAM_UINT64 = 11
} sidestream_type;

/* The array of all ranks together. Axes come fastest first: the cells of axis 0 lie beside each other in packed memory.
 * Alike on all ranks. */
typedef struct sidestream_description {
  size_t size;         /* sizeof(sidestream_description) */
  int dimensions;      /* 1 to 3 */
  int64_t cells[3];    /* of the whole along each axis */
  int periodic[3];     /* whether the array goes on at its opposite face */
  int64_t rim[3];      /* cells more on both sides of each needed chunk */
  int components;      /* numbers of a cell, 1 or more */
  int allows_holes;    /* cells that are needed and that nobody owns stay as they are, instead of being an error */
  const char *strategy; /* how cells travel: "p2p", "alltoallw", "tuned", ...; NULL: "automatic" */
} sidestream_description;
#define SIDESTREAM_DESCRIPTION {sizeof(sidestream_description), 3, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 1, 0, NULL}

/* The chunks of this rank. Both arrays have `dimensions` numbers for each chunk, chunk after chunk. A chunk of no cells
 * is allowed. Where an axis is periodic, needed chunks may begin below 0 and end beyond the whole. */
typedef struct sidestream_chunks {
  size_t size; /* sizeof(sidestream_chunks) */
  size_t count;
  const int64_t *offsets; /* of the first cell of each chunk from that of the whole */
  const int64_t *cells;   /* of each chunk, needed ones without their rims */
} sidestream_chunks;
#define SIDESTREAM_CHUNKS {sizeof(sidestream_chunks), 0, NULL, NULL}

/* Their memory. With `strides` NULL it is packed: axis 0 fastest, needed chunks with their rims, one component after
 * the other. Else `dimensions` + 1 numbers for each chunk: elements between neighbours along each axis, and between
 * components. */
typedef struct sidestream_memory {
  size_t size; /* sizeof(sidestream_memory) */
  sidestream_type type;
  size_t count;        /* of chunks, as many as were mapped */
  void *const *chunks; /* the first cell of each, in the order of the sidestream_chunks; owned ones are only read */
  const int64_t *strides;
} sidestream_memory;
#define SIDESTREAM_MEMORY {sizeof(sidestream_memory), SIDESTREAM_FLOAT64, 0, NULL, NULL}

typedef struct sidestream_data sidestream_data;

/* Describes the data; `*data` is freed by sidestream_free. Local. */
SIDESTREAM_PUBLIC int sidestream_describe(const sidestream_description *description, sidestream_data **data);

/* Maps what each rank owns to what each rank needs; in the place of the mapping that `data` may have had. NULL, or a
 * count of 0: none on this rank. `comm` may join two groups (an intercommunicator): then those that own send to those
 * that need across it. Owned chunks do not overlap; needed ones may. Collective on `comm`. */
SIDESTREAM_PUBLIC int sidestream_map(sidestream_data *data, MPI_Comm comm, const sidestream_chunks *owned,
                                     const sidestream_chunks *needed);
/* The same with a communicator of Fortran. */
SIDESTREAM_PUBLIC int sidestream_map_f(sidestream_data *data, MPI_Fint comm, const sidestream_chunks *owned,
                                       const sidestream_chunks *needed);

/* Fills the needed chunks from the owned ones, as often as one likes, with whatever memory. Elements are converted where
 * the types differ (between reals; complex numbers; from integers to wider ones and to reals that hold them). NULL where
 * a rank has no chunks. Collective, and nothing is agreed upon first, which would cost as much as a small exchange: a
 * rank whose arguments are wrong returns its error at once, and those that need its cells wait for it, as in calls of
 * MPI. */
SIDESTREAM_PUBLIC int sidestream_reorganise(sidestream_data *data, const sidestream_memory *owned,
                                            const sidestream_memory *needed);
/* The same in two halves, between which owned chunks must not change and needed ones are not complete. Collective. */
SIDESTREAM_PUBLIC int sidestream_start(sidestream_data *data, const sidestream_memory *owned,
                                       const sidestream_memory *needed);
SIDESTREAM_PUBLIC int sidestream_finish(sidestream_data *data);
/* Lets cells travel; `*is_done` is 1 where sidestream_finish would not wait. Local. */
SIDESTREAM_PUBLIC int sidestream_test(sidestream_data *data, int *is_done);

/* Bytes of elements of `type` that this rank sends to others in one reorganisation. Local. */
SIDESTREAM_PUBLIC int sidestream_sent_bytes(const sidestream_data *data, sidestream_type type, uint64_t *bytes);

/* Frees the data and its mapping; NULL is allowed. Collective on the communicator of the mapping, before MPI ends. */
SIDESTREAM_PUBLIC int sidestream_free(sidestream_data *data);

#ifdef __cplusplus
}
#endif

#endif
