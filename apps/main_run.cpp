#include <filesystem>

#include "programs.hpp"

int main(int argc, char** argv) {
  return sidestream::apps::run_program(argc, argv, std::filesystem::read_symlink("/proc/self/exe").string());
}
