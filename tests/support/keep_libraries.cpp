// For the thread sanitizer: what Open MPI has loaded stays so at its end. The sanitizer ends a program in which a
// library of its suppressions is unloaded.
extern "C" int dlclose(void*) {
  return 0;
}
