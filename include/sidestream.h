/* Sidestream for C, through sidestream.hpp for C++ and through apps/fortran/sidestream.f90 for Fortran: sessions, which
 * let a program be analysed, written to files, restarted and looked at while it runs, and redistribution.
 *
 * Every function returns a status: SIDESTREAM_OK or what kind of error it was. Nothing here ends the program, prints or
 * throws. Structures begin with their size, which says which version of this header the caller was compiled with:
 *
 *     sidestream_description description = SIDESTREAM_DESCRIPTION;
 *
 * A library takes structures of older headers, whose missing members are as by default, and of newer ones as long as
 * they ask for nothing that it does not know.
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
  SIDESTREAM_INTERNAL = 4,  /* an error of Sidestream itself */
  SIDESTREAM_INCOMPLETE = 5 /* a run has ended, but some of its results or files could not be made */
} sidestream_status;

/* A few words on a status, for as long as the program runs. */
SIDESTREAM_PUBLIC const char *sidestream_error_text(int status);
/* What was wrong in the last call of this thread that failed, in up to three lines; valid until its next call. */
SIDESTREAM_PUBLIC const char *sidestream_last_message(void);
/* "0.1.0" */
SIDESTREAM_PUBLIC const char *sidestream_version(void);
/* The MPI that the library was built for: "Open MPI" or "MPICH", which must be the one of the program. */
SIDESTREAM_PUBLIC const char *sidestream_mpi(void);

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

/* ---- Sessions: analyses, files, restarts and a live view of a program that takes its own steps ----
 *
 *     sidestream_session *run;
 *     MPI_Comm comm;
 *     sidestream_open(MPI_COMM_WORLD, &options, &run, &comm);   // MPI_COMM_NULL on a rank that only analyses
 *     if (comm != MPI_COMM_NULL) {
 *       sidestream_set_mesh(run, &mesh);
 *       sidestream_set_array(run, "temperature", "K", SIDESTREAM_FLOAT64, temperature);
 *       sidestream_begin(run, &step, &time);
 *       while (sidestream_goes_on(run)) {
 *         ...                                                    // a step
 *         sidestream_step(run, ++step, time);
 *       }
 *     }
 *     sidestream_close(run);
 *
 * A call that is refused has done nothing, and the run goes on; one that failed half-way leaves a run whose other calls
 * are refused until sidestream_close, which then returns SIDESTREAM_INCOMPLETE.
 *
 * Arrays stay the program's: they are read where they lie by sidestream_begin and sidestream_step, while these run, and
 * written only by sidestream_begin where the run goes on from a checkpoint. Whatever else a function is given may be
 * freed when it returns. Ranks that compute call collective functions together. */

typedef struct sidestream_session sidestream_session;

enum { SIDESTREAM_REFUSE = 0, SIDESTREAM_OVERWRITE = 1, SIDESTREAM_RESUME = 2 };

typedef struct sidestream_options {
  size_t size;        /* sizeof(sidestream_options) */
  const char *name;   /* of the program, for reports; NULL: "host" */
  const char *config; /* TOML file of tasks, outputs and coupling; NULL: nothing is done */
  const char *folder; /* of the run */
  int existing;       /* an earlier run in the folder: SIDESTREAM_REFUSE, _OVERWRITE, or _RESUME from its newest
                         checkpoint, if there is one */
  int catches_signals; /* SIGINT, SIGTERM and SIGUSR1 end the run after the present step */
  int is_quiet;        /* no line for each step */
  size_t override_count;
  const char *const *overrides; /* keys of the configuration: "task.slice.every=5" */
  const char *job_program; /* sidestream-run, which does isolated tasks; NULL: SIDESTREAM_RUN, or beside the library */
  void (*tell)(const char *line, void *context); /* what the user should read, on one rank; NULL: standard error */
  void *context;
} sidestream_options;
#define SIDESTREAM_OPTIONS {sizeof(sidestream_options), NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL}

/* Opens a run with all ranks of `comm`. `*compute` is the communicator of the ranks that compute, to be used instead of
 * `comm` and freed by sidestream_close. Ranks that the configuration sets aside for analyses (`coupling.sidecars`)
 * return when the run has ended, with MPI_COMM_NULL. Collective. */
SIDESTREAM_PUBLIC int sidestream_open(MPI_Comm comm, const sidestream_options *options, sidestream_session **session,
                                      MPI_Comm *compute);
/* The same with communicators of Fortran. */
SIDESTREAM_PUBLIC int sidestream_open_f(MPI_Fint comm, const sidestream_options *options, sidestream_session **session,
                                        MPI_Fint *compute);

/* 1 on a rank that was set aside for analyses. Local. */
SIDESTREAM_PUBLIC int sidestream_is_sidecar(const sidestream_session *session);

/* What the program computes on, alike on all ranks but for the blocks. Axis 0 is the one along which cells lie together
 * in packed memory; it is called x in results, axis 1 y and axis 2 z. */
typedef struct sidestream_mesh {
  size_t size;             /* sizeof(sidestream_mesh) */
  int64_t cells[3];        /* of the domain on level 0; 1 along axes that there are not */
  double lengths[3];       /* of the domain */
  int periodic[3];         /* whether it goes on at its opposite face */
  const char *length_unit; /* "Mpc": comoving; NULL or empty: the problem's own */
  int64_t ghosts[3];       /* layers of ghost cells around each block in memory */
  size_t count;            /* blocks of this rank */
  const int64_t *offsets;  /* 3 for each: its first cell, in cells of its level */
  const int64_t *extents;  /* 3 for each: its cells, without ghosts */
  const int *levels;       /* of each, 0 the coarsest; cells of a level are half as large as those of the one before, and
                              finer blocks hide what they cover; NULL: all 0 */
} sidestream_mesh;
#define SIDESTREAM_MESH {sizeof(sidestream_mesh), {1, 1, 1}, {1.0, 1.0, 1.0}, {0, 0, 0}, NULL, {0, 0, 0}, 0, NULL, NULL, NULL}

/* Says what the mesh is, before sidestream_begin, and again where it changes: fields are given anew then. Collective. */
SIDESTREAM_PUBLIC int sidestream_set_mesh(sidestream_session *session, const sidestream_mesh *mesh);

typedef struct sidestream_field {
  size_t size;      /* sizeof(sidestream_field) */
  const char *name; /* "gas_density", "velocity_x", ...: `sidestream list quantities` has those that analyses know */
  const char *unit; /* NULL or empty: none is told */
  const char *meaning; /* in a line; may be NULL */
  sidestream_type type;  /* no complex numbers */
  int is_state;          /* checkpoints hold it, and a restart fills it */
  size_t count;          /* of blocks, as in the mesh */
  void *const *blocks;   /* the first element of each, that of the ghost cells where there are any */
  const int64_t *strides; /* 3 for each block: elements between neighbours along each axis; NULL: packed, axis 0 first */
  const int64_t *shapes;  /* 3 for each block: elements of its array along each axis, with ghost cells, to be compared
                             with the mesh; NULL: they are not */
} sidestream_field;
#define SIDESTREAM_FIELD {sizeof(sidestream_field), NULL, NULL, NULL, SIDESTREAM_FLOAT64, 1, 0, NULL, NULL, NULL}

/* Says where a quantity lies; again where it moves, and after each sidestream_set_mesh. All ranks give the same ones in the same order. Float64 and float32
 * whose axis 0 has the stride 1 are never copied; others are converted when somebody asks for them. Local. */
SIDESTREAM_PUBLIC int sidestream_set_field(sidestream_session *session, const sidestream_field *field);
/* The same of a packed array on the one block of this rank, which is part of the state. */
SIDESTREAM_PUBLIC int sidestream_set_array(sidestream_session *session, const char *name, const char *unit,
                                           sidestream_type type, void *array);

typedef struct sidestream_particles {
  size_t size;                   /* sizeof(sidestream_particles) */
  const char *name;              /* of their kind: "dark_matter", "tracers", ... */
  size_t count;                  /* on this rank, wherever their cells are */
  const int64_t *ids;            /* different from each other over all ranks */
  const double *positions[3];    /* along each axis, in the unit of `lengths` */
  size_t attribute_count;        /* alike on all ranks, as are their names */
  const char *const *attributes; /* names: "velocity_x", "mass", ... */
  const char *const *units;      /* NULL: none are told */
  const double *const *values;   /* of each attribute */
  double mass;                   /* of each, when all are alike; 0: none */
} sidestream_particles;
#define SIDESTREAM_PARTICLES {sizeof(sidestream_particles), NULL, 0, NULL, {NULL, NULL, NULL}, 0, NULL, NULL, NULL, 0.0}

/* Says where particles lie; again before each step after which their number has changed or they have moved in memory.
 * They are copied when somebody asks for them. Local. */
SIDESTREAM_PUBLIC int sidestream_set_particles(sidestream_session *session, const sidestream_particles *particles);
/* Those of a kind in the checkpoint that the run went on from, each on the rank that has its cell, in a structure
 * that begins as SIDESTREAM_PARTICLES. The arrays are the session's and live as long as it. Local. */
SIDESTREAM_PUBLIC int sidestream_restored_particles(sidestream_session *session, const char *name,
                                                    sidestream_particles *particles);

/* A number that tasks and files may use, alike on all ranks. Local. */
SIDESTREAM_PUBLIC int sidestream_set_number(sidestream_session *session, const char *name, double value);
/* Where the universe expands: a = 1 / (1 + z), from before sidestream_begin on. Local. */
SIDESTREAM_PUBLIC int sidestream_set_scale_factor(sidestream_session *session, double scale_factor);
/* How much of the run is done, from 0 to 1, at which no step follows; alike on all ranks. Local. */
SIDESTREAM_PUBLIC int sidestream_set_progress(sidestream_session *session, double progress);
/* A number that `sidestream steer` may change within a range between two steps; `*value` lives as long as the session.
 * Before sidestream_begin, alike on all ranks. Local. */
SIDESTREAM_PUBLIC int sidestream_add_knob(sidestream_session *session, const char *name, const char *meaning,
                                          double minimum, double maximum, double *value);

/* The state before the first step, with what is due there. Where the run goes on from a checkpoint, fields that are
 * state are filled, and `*step` and `*time` are those of the checkpoint. Collective. */
SIDESTREAM_PUBLIC int sidestream_begin(sidestream_session *session, int64_t *step, double *time);
/* 1 where sidestream_begin took a checkpoint. Local. */
SIDESTREAM_PUBLIC int sidestream_is_restarted(const sidestream_session *session);
/* 1 while another step is to be taken: 0 at a limit of the configuration, at a progress of 1, by steering or a signal,
 * and where there is no run. The same on all ranks that compute. Local. */
SIDESTREAM_PUBLIC int sidestream_goes_on(const sidestream_session *session);
/* Whether tasks that are due by their number of steps read the quantity after the next step. Local. */
SIDESTREAM_PUBLIC int sidestream_wants(const sidestream_session *session, const char *name, int *is_wanted);
/* The next time after `time` that a task wants, to land on; infinity where there is none. Local. */
SIDESTREAM_PUBLIC int sidestream_next_time(const sidestream_session *session, double time, double *next);
/* Tells that a step has been taken, after which everything is as it lies: does what is due. Refused where ranks differ in
 * step, time, progress, numbers or fields, where steps do not go up, and where time goes back. Collective. */
SIDESTREAM_PUBLIC int sidestream_step(sidestream_session *session, int64_t step, double time);
/* Lets transfers go on, within long steps. Local and cheap. */
SIDESTREAM_PUBLIC int sidestream_progress(sidestream_session *session);
/* Ends the run, waits for what it has begun and frees the session; NULL is allowed. Looks at no arrays: a last checkpoint
 * is written by the sidestream_step after which sidestream_goes_on is 0. Collective, before MPI ends: MPI_Finalize closes
 * a session that is still open, and warns. */
SIDESTREAM_PUBLIC int sidestream_close(sidestream_session *session);

/* ---- Redistribution: arrays in chunks, moved from the ranks that own them to those that need them ---- */

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
