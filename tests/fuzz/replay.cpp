// Runs a target with every file of the folders that are named: what the quick tests do with the corpus, whatever the
// compiler.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/target.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int folder = 1; folder < argc; ++folder)
    for (const auto& entry : fs::directory_iterator(argv[folder])) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& path : files) {
    std::fprintf(stderr, "%s\n", path.c_str());  // the last one is to blame
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) std::fputs("there is no input\n", stderr);
  return files.empty() ? 1 : 0;
}
