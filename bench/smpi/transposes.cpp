// The transposes of a schedule as MPI_Alltoallv, for the simulated MPI of SimGrid: compiled and started by
// bench/fft_at_scale_smpi.py, which writes the schedule and reads the two times. Usage: transposes SCHEDULE
// SCHEDULE: element bytes, and for each transpose: ranks, kinds, places; for each rank its group, place and kind; and
// for each kind what goes to each place [elements].
#include <mpi.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <vector>

namespace {

struct Transpose {
  int ranks = 0, kinds = 0, places = 0;
  std::vector<int> group, place, kind;
  std::vector<int> elements;  // [kind][place]

  int sent(int rank, int to) const {
    return elements[static_cast<std::size_t>(kind[static_cast<std::size_t>(rank)] * places + to)];
  }
};

std::istream& operator>>(std::istream& stream, Transpose& transpose) {
  stream >> transpose.ranks >> transpose.kinds >> transpose.places;
  for (int rank = 0; rank < transpose.ranks; ++rank) {
    int group, place, kind;
    stream >> group >> place >> kind;
    transpose.group.push_back(group);
    transpose.place.push_back(place);
    transpose.kind.push_back(kind);
  }
  transpose.elements.resize(static_cast<std::size_t>(transpose.kinds) * static_cast<std::size_t>(transpose.places));
  for (int& count : transpose.elements) stream >> count;
  return stream;
}

// Bytes to or from each place of the group of `rank`, and where they begin.
struct Counts {
  std::vector<int> bytes, first;

  void close() {
    first.resize(bytes.size());
    std::exclusive_scan(bytes.begin(), bytes.end(), first.begin(), 0);
  }
  std::size_t total() const { return static_cast<std::size_t>(first.back() + bytes.back()); }
};

double seconds(const Transpose& transpose, int rank, int element_bytes) {
  const auto me = static_cast<std::size_t>(rank);
  Counts out, in;
  for (int other = 0; other < transpose.ranks; ++other) {
    if (transpose.group[static_cast<std::size_t>(other)] != transpose.group[me]) continue;
    out.bytes.push_back(element_bytes * transpose.sent(rank, transpose.place[static_cast<std::size_t>(other)]));
    in.bytes.push_back(element_bytes * transpose.sent(other, transpose.place[me]));
  }
  out.close();
  in.close();
  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, transpose.group[me], transpose.place[me], &group);
  void* from = SMPI_SHARED_MALLOC(out.total());
  void* to = SMPI_SHARED_MALLOC(in.total());
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_Alltoallv(from, out.bytes.data(), out.first.data(), MPI_BYTE, to, in.bytes.data(), in.first.data(), MPI_BYTE,
                group);
  const double mine = MPI_Wtime() - begin;
  double slowest = 0.0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  SMPI_SHARED_FREE(from);
  SMPI_SHARED_FREE(to);
  MPI_Comm_free(&group);
  return slowest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, element_bytes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::ifstream file(argv[1]);
  file >> element_bytes;
  for (Transpose transpose; file >> transpose; transpose = {}) {
    const double slowest = seconds(transpose, rank, element_bytes);
    if (rank == 0) std::printf("transpose %.9g\n", slowest);
  }
  MPI_Finalize();
}
