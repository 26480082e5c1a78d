// Loaded before MPICH: a rank that waits gives its core to others, as ranks of Open MPI do on request. MPICH 4.0 has no
// such option, and with more ranks than cores tests take ten times as long without. For as long as it waits it asks UCX
// whether anything has arrived; that call is wrapped here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

static unsigned (*progress)(void* worker);

__attribute__((constructor)) static void find_progress(void) {
  progress = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
}

unsigned ucp_worker_progress(void* worker) {
  const unsigned arrived = progress(worker);
  if (arrived == 0) sched_yield();
  return arrived;
}
