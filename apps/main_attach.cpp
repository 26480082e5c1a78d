#include "programs.hpp"

int main(int argc, char** argv) {
  return sidestream::apps::attach_program(argc, argv);
}
