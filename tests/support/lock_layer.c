/* Before a program's own: its locks are counted for each thread, and a call of MPI by a thread that holds one is
 * appended to the file HELD, a line of its name each. WATCHED_FUNCTIONS are WATCHED(name) of all it calls. What
 * libraries such as HDF5 call of MPI is theirs on the first thread, which may keep the others out of them meanwhile. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static _Thread_local int held; /* locks that the program itself has taken, not the libraries below it */
static ElfW(Addr) text_begin, text_end;

static int find_program(struct dl_phdr_info* object, size_t size, void* unused) {
  (void)size, (void)unused;
  for (int n = 0; n < object->dlpi_phnum; ++n)
    if (object->dlpi_phdr[n].p_type == PT_LOAD && object->dlpi_phdr[n].p_flags & PF_X) {
      text_begin = object->dlpi_addr + object->dlpi_phdr[n].p_vaddr;
      text_end = text_begin + object->dlpi_phdr[n].p_memsz;
    }
  return 1; /* the first object is the program */
}

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(find_program, NULL);
}

static void say(const char* file, const char* line) {
  const int to = open(file, O_CREAT | O_APPEND | O_WRONLY, 0600);
  if (to < 0 || write(to, line, strlen(line)) < 0) _exit(99);
  close(to);
}

static int is_ours(void* caller) {
  return (ElfW(Addr))caller >= text_begin && (ElfW(Addr))caller < text_end;
}

#define COUNTED(lock, name, step)                                             \
  int name(lock* one) {                                                       \
    static int (*next)(lock*);                                                \
    if (!next) next = (int (*)(lock*))dlsym(RTLD_NEXT, #name);                \
    const int error = next(one);                                              \
    if (!error && is_ours(__builtin_return_address(0))) held += step;         \
    return error;                                                             \
  }
COUNTED(pthread_mutex_t, pthread_mutex_lock, 1)
COUNTED(pthread_mutex_t, pthread_mutex_trylock, 1)
COUNTED(pthread_mutex_t, pthread_mutex_unlock, -1)
COUNTED(pthread_rwlock_t, pthread_rwlock_rdlock, 1)
COUNTED(pthread_rwlock_t, pthread_rwlock_tryrdlock, 1)
COUNTED(pthread_rwlock_t, pthread_rwlock_wrlock, 1)
COUNTED(pthread_rwlock_t, pthread_rwlock_trywrlock, 1)
COUNTED(pthread_rwlock_t, pthread_rwlock_unlock, -1)

static void look(void* caller, const char* line) {
  const int is_first = gettid() == getpid();
  if (held && (is_ours(caller) || !is_first)) say(HELD, line);
}

/* Whatever the arguments are, the function gets them. */
#define WATCHED(name)                                                                                \
  extern int P##name() __attribute__((weak)); /* mpirun has none of them */                        \
  int name() {                                                                                       \
    void* arguments = __builtin_apply_args();                                                        \
    look(__builtin_return_address(0), #name "\n");                                                   \
    __builtin_return(__builtin_apply((void (*)())P##name, arguments, 128));                          \
  }
WATCHED_FUNCTIONS
