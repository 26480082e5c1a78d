// A simulation of another program, whose state is a complex spectrum in pencils, with neither redshift nor blocks of
// equal size, and which at every other step shows a line through space beside it, a grid of its own: its checkpoints,
// restarts, files and tasks are those of any simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "sidestream/core/for_each.hpp"
#include "support/program_runs.hpp"

namespace sidestream::sims {
namespace {

using Complex = std::complex<double>;

constexpr mesh::Box modes{{0, 0, 0}, {9, 16, 12}};  // of 16 x 16 x 12 cells
constexpr mesh::Box line{{0, 0, 0}, {24, 1, 1}};    // points along x, from the corner
constexpr double end = 1.0, viscosity = 0.01;

mesh::Quantity amplitude() {
  return {"amplitude", "m/s", "of a decaying and turning wave", true};
}
mesh::Quantity velocity() {
  return {"velocity", "m/s", "at the points of the line"};
}
double wavenumber(std::int32_t number, std::int32_t of) {
  return number <= of / 2 ? number : number - of;
}

// Pencils along x, of unequal width, dealt to the ranks as whole rows of them.
mesh::Layout pencils(int ranks) {
  std::vector<mesh::Box> boxes;
  std::vector<std::int32_t> owners;
  for (std::int32_t y = 0; y < 16; y += 5)
    for (std::int32_t z = 0; z < 12; z += 5) {
      boxes.push_back({{0, y, z}, {9, std::min(16, y + 5), std::min(12, z + 5)}});
      owners.push_back(y / 5 % ranks);
    }
  return {modes, {false, false, false}, std::move(boxes), std::move(owners)};
}

// Dealt to the ranks in pieces of unequal size; with many ranks some have none.
mesh::Layout points(int ranks) {
  return {line, {true, false, false}, {{{0, 0, 0}, {7, 1, 1}}, {{7, 0, 0}, {24, 1, 1}}}, {0, ranks - 1}};
}

// u_k decays and turns; each step by its own wavenumber.
class Spectrum final : public Simulation {
 public:
  explicit Spectrum(const comm::Communicator& comm)
      : comm_(comm), layout_(pencils(comm.size())), state_(layout_, comm.rank()) {}

  void initialize() override {
    for_each([](Complex& u, double kx, double ky, double kz) { u = Complex(kx + 1.0, ky - 2.0) / (1.0 + kz * kz); });
  }
  mesh::LevelLayouts blocks_for(const mesh::Snapshot&) const override { return mesh::LevelLayouts(layout_); }
  void restore(const mesh::Snapshot& state) override {
    const auto [real, imag] = mesh::complex_parts(amplitude().name);
    const auto reals = state.field(real), imags = state.field(imag);
    for (int b = 0; b < state_.blocks(); ++b)
      core::for_each_cell(state_.box(b),
                          [u = state_.view(b), re = reals.view(b), im = imags.view(b)](int k, int j, int i) {
                            u(k, j, i) = {re(k, j, i), im(k, j, i)};
                          });
    step_ = state.moment.step;
    time_ = state.moment.time;
  }
  void advance() override {
    const double dt = end / 16;
    for_each([dt](Complex& u, double kx, double ky, double kz) {
      u *= (1.0 - viscosity * dt * (kx * kx + ky * ky + kz * kz)) * Complex(0.8, 0.6 * kx / 8.0);
    });
    time_ += dt;
    ++step_;
  }
  void check_state() const override {}
  mesh::Moment moment() const override { return {.step = step_, .time = time_}; }
  double progress() const override { return time_ / end; }
  nlohmann::json status() const override { return {{"time", time_}}; }
  nlohmann::json summary() const override { return nlohmann::json::object(); }
  mesh::Snapshot snapshot() override {
    mesh::Snapshot snapshot;
    snapshot.moment = moment();
    snapshot.geometry = {modes, {9.0, 16.0, 12.0}, {false, false, false}};
    snapshot.levels = {layout_};
    snapshot.rank = comm_.rank();
    snapshot.add_complex(amplitude(), {state_});
    if (step_ % 2 == 0) snapshot.add_grid("line", on_line());
    return snapshot;
  }

 private:
  mesh::Snapshot on_line() {
    mesh::Snapshot snapshot;
    snapshot.geometry = {line, {1.0, 1.0 / 24, 1.0 / 24}, {true, false, false}};
    snapshot.levels = {points(comm_.size())};
    snapshot.rank = comm_.rank();
    snapshot.add(velocity(), [this](int) {
      const std::vector<double> values = transformed();
      mesh::Field<double> field(points(comm_.size()), comm_.rank());
      for (int b = 0; b < field.blocks(); ++b)
        core::for_each_cell(field.box(b), [&, out = field.view(b)](int k, int j, int i) {
          out(k, j, i) = values[static_cast<std::size_t>(i)];
        });
      return mesh::AnyField(std::make_shared<const mesh::Field<double>>(std::move(field)));
    });
    return snapshot;
  }
  // The real part of the sum over all modes, on all ranks.
  std::vector<double> transformed() {
    std::vector<core::ExactSum> sums(static_cast<std::size_t>(line.volume()));
    for_each([&](const Complex& u, double kx, double, double) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double phase = 2.0 * M_PI * kx * static_cast<double>(i) / static_cast<double>(sums.size());
        sums[i].add(u.real() * std::cos(phase) - u.imag() * std::sin(phase));
      }
    });
    comm_.sum(sums);
    std::vector<double> values;
    for (const core::ExactSum& sum : sums) values.push_back(sum.value());
    return values;
  }
  template <typename F>
  void for_each(F f) {
    for (int b = 0; b < state_.blocks(); ++b)
      core::for_each_cell(state_.box(b), [f, u = state_.view(b)](int k, int j, int i) {
        f(u(k, j, i), i, wavenumber(j, 16), wavenumber(k, 12));
      });
  }

  const comm::Communicator& comm_;
  mesh::Layout layout_;
  mesh::Field<Complex> state_;
  std::int64_t step_ = 0;
  double time_ = 0.0;
};

class SpectrumPlan final : public SimulationPlan {
 public:
  mesh::Int3 cells() const override { return modes.extent(); }
  double memory_bytes() const override { return 16.0 * static_cast<double>(modes.volume()); }
  couple::TimeKeeping times() const override { return {.has_redshift = false, .first_time = 0.0, .last_time = end}; }
  std::vector<mesh::Quantity> quantities() const override {
    std::vector<mesh::Quantity> both;
    for (const std::string& name : mesh::complex_parts(amplitude().name))
      both.push_back({name, amplitude().unit, amplitude().meaning, true});
    return both;
  }
  mesh::Grids other_grids() const override { return {{"line", {line, {velocity()}}}}; }
  nlohmann::json description() const override { return {{"cells", {9, 16, 12}}}; }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings&,
                                   core::Bill&) const override {
    return std::make_unique<Spectrum>(compute);
  }
};

const test::Simulations known = test::only_simulation<SpectrumPlan>("spectrum");

class SpectrumRun : public test::ProgramRuns {
 protected:
  SpectrumRun() : ProgramRuns(known) {}
};

std::string steps(int most) {
  return "[run]\nmax_steps = " + std::to_string(most) + "\n";
}

TEST_F(SpectrumRun, GoesOnFromACheckpointOnOtherRanksToTheBit) {
  const std::string output = "[output]\ncheckpoint = { format = \"raw\", every = 2, keep = 3 }\n";
  run_whole_and_in_parts(output, 6, "whole", "parts");

  const auto expected = state("whole");
  EXPECT_GT(expected.size(), 20u);
  EXPECT_EQ(state("parts"), expected);
}

TEST_F(SpectrumRun, EveryTransportBringsTheSameBits) {
  const auto tasks = [](const std::string& transport) {
    const std::string when = "\nevery = 2\ntransport = \"" + transport + "\"\n";
    return steps(5) +
           "[quantity.power]\nexpression = \"amplitude_real * amplitude_real + amplitude_imag * amplitude_imag\"\n"
           "[task.power]\nanalysis = \"pdf\"\nfields = [\"power\"]" +
           when + "[task.velocities]\nanalysis = \"pdf\"\ngrid = \"line\"\nfields = [\"velocity\"]" + when +
           "[task.profile]\nanalysis = \"projection\"\naxis = \"y\"\ngrid = \"line\"\nfields = [\"velocity\"]" + when +
           "[task.cut]\nanalysis = \"slice\"\naxis = \"y\"\nfields = [\"amplitude_real\", \"amplitude_imag\"]" + when;
  };
  expect_the_same_by_every_transport(tasks);
}

// u(0) is the sum of all real parts.
TEST_F(SpectrumRun, APlotFileOfAnotherGridHoldsWhatLiesThere) {
  run(steps(4) + "[output]\nplotfile = { format = \"raw\", grid = \"line\", every = 4 }\n" +
          "checkpoint = { format = \"raw\", every = 4 }\n",
      "files");

  const std::string path = folder / ("files/" + io::formats().named("raw").plotfile->of(4));
  const auto file = io::open_snapshot_file(path);
  ASSERT_EQ(file->description().state.levels.front().domain(), line);
  mesh::Field<double> velocities(points(1), 0), real(pencils(1), 0);
  file->read_field("velocity", velocities, 0);
  io::open_snapshot_file(io::generations_in(folder / "files").front().path)->read_field("amplitude_real", real, 0);
  core::ExactSum sum;
  for (int b = 0; b < real.blocks(); ++b) sum.add(real.block(b));
  EXPECT_EQ(velocities.view(0)(0, 0, 0), sum.value());
}

TEST_F(SpectrumRun, AGridThatIsMissingFailsTheFilesAndTasksThatAreOfItAlone) {
  const std::string every_step = "every = 1\n";
  run(steps(4) + "[task.points]\nwrite = \"plotfile\"\nformat = \"raw\"\ngrid = \"line\"\n" + every_step +
          "[task.velocities]\nanalysis = \"pdf\"\ngrid = \"line\"\nfields = [\"velocity\"]\n" + every_step +
          "[task.amplitudes]\nanalysis = \"slice\"\naxis = \"y\"\nfields = [\"amplitude_real\"]\n" + every_step,
      "gaps");

  const io::RunFolder written(folder / "gaps");
  const io::StepName pattern = *io::formats().named("raw").plotfile;
  for (const std::int64_t step : {1, 2, 3, 4}) {
    const bool has_line = step % 2 == 0;
    EXPECT_EQ(std::filesystem::exists(folder / ("gaps/points/" + pattern.of(step))), has_line) << step;
    EXPECT_EQ(std::filesystem::exists(written.result("velocities", step)), has_line) << step;
    EXPECT_TRUE(std::filesystem::exists(written.result("amplitudes", step))) << step;
  }
  if (world.rank() != 0) return;
  const auto failed = test::events(folder / "gaps", "plotfile_failed");
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_THAT(failed[0].at("message").get<std::string>(), testing::HasSubstr("grid `line`"));
  EXPECT_EQ(test::events(folder / "gaps", "analysis_failed").size(), 2U);
}

TEST(SpectrumConfiguration, AGridThatIsNotThereIsRefusedWithTheNearestName) {
  const auto problem = [](const std::string& rest) -> std::string {
    try {
      test::configuration_of(known, rest);
    } catch (const core::Error& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string task = "[task.a]\nanalysis = \"pdf\"\nevery = 1\n";
  using testing::AllOf, testing::HasSubstr;

  EXPECT_THAT(problem(task + "grid = \"lines\"\nfields = [\"velocity\"]"),
              AllOf(HasSubstr("`lines`"), HasSubstr("`line`"), HasSubstr("run.toml:5")));
  EXPECT_THAT(problem(task + "grid = \"line\"\nfields = [\"amplitude_real\"]"),
              AllOf(HasSubstr("this grid does not have"), HasSubstr("velocity")));
  EXPECT_THAT(problem(task + "fields = [\"velocity\"]"), HasSubstr("this simulation does not have"));
  EXPECT_THAT(problem("[output]\nplotfile = { format = \"raw\", grid = \"lin\", every = 4 }"), HasSubstr("`line`"));
  EXPECT_EQ(problem(task + "grid = \"line\"\nfields = [\"velocity\"]"), "accepted");
}

}  // namespace
}  // namespace sidestream::sims
