#include "sims/run/moments.hpp"

#include <gtest/gtest.h>

namespace sidestream::sims {
namespace {

const solvers::Background background{solvers::CosmologyParameters{}};

mesh::Moment at(double redshift) {
  const double a = solvers::scale_factor(redshift);
  return {.time = background.time(a), .scale_factor = a, .attributes = {{"redshift", redshift}}};
}

double time_of(double redshift) {
  return background.time(solvers::scale_factor(redshift));
}

// Where a run lands that nothing else holds back.
std::vector<double> landings(const couple::Landings& wanted, double start, double last) {
  const Moments moments(wanted, background, last);
  std::vector<double> all;
  for (double z = start; z > last && all.size() < 100;) all.push_back(z = moments.next(at(z)));
  return all;
}

using Redshifts = std::vector<double>;

TEST(Moments, ComeInTheirOrder) {
  EXPECT_EQ(landings({.redshifts = {3.0, 7.0, 5.0}}, 9.0, 2.0), (Redshifts{7.0, 5.0, 3.0, 2.0}));
}

TEST(Moments, ThatAreTheSameButForRoundingAreOne) {
  EXPECT_EQ(landings({.redshifts = {20.0, 19.999999999999996}}, 30.0, 10.0), (Redshifts{20.0, 10.0}));
  EXPECT_EQ(landings({.redshifts = {19.999999999, 20.0}}, 30.0, 10.0), (Redshifts{20.0, 10.0}));
  EXPECT_EQ(landings({.times = {time_of(20.0)}, .redshifts = {20.0}}, 30.0, 10.0).size(), 2u);
  EXPECT_EQ(landings({.times = {time_of(20.0), time_of(20.0) * (1.0 + 1e-13)}}, 30.0, 10.0).size(), 2u);
}

TEST(Moments, ThatAreNotTheSameStayApart) {
  EXPECT_EQ(landings({.redshifts = {20.0, 19.9999}}, 30.0, 10.0), (Redshifts{20.0, 19.9999, 10.0}));
}

TEST(Moments, OfTheStartAndTheEndAreNoneOfTheirOwn) {
  EXPECT_EQ(landings({.redshifts = {30.0, 29.999999999999996, 10.000000000000002, 10.0, 9.0}}, 30.0, 10.0),
            (Redshifts{10.0}));
  EXPECT_EQ(landings({.times = {time_of(10.0), time_of(9.0)}}, 30.0, 10.0), (Redshifts{10.0}));
}

TEST(Moments, AreAllDueWhereTheRunLands) {
  const Redshifts wanted{20.0, 19.99999999, 19.99999996, 15.0, 15.0 - 1.5e-8};
  couple::Trigger each_apart[5];
  for (std::size_t one = 0; one < wanted.size(); ++one)
    each_apart[one] = couple::Trigger({.at_redshift = {wanted[one]}});
  const comm::Communicator world(MPI_COMM_WORLD);
  Redshifts due_at(wanted.size(), 0.0);
  Redshifts run = landings({.redshifts = wanted}, 30.0, 10.0);
  run.insert(run.begin(), 30.0);

  for (const double z : run)
    for (std::size_t one = 0; one < wanted.size(); ++one) {
      couple::PresentState state(world, at(z), {}, 1.0);
      if (each_apart[one].is_due({at(z)}, state)) due_at[one] = z;
    }

  EXPECT_EQ(due_at, (Redshifts{20.0, 20.0, 19.99999996, 15.0, 15.0}));
}

TEST(Times, ThatAreTheSameButForRoundingAreOne) {
  const Times times({0.3, 0.1, 0.1 + 1e-16, 0.2, 0.5 - 1e-14, 0.5, 0.7}, 0.5);

  EXPECT_EQ(times.next(0.0), 0.1);
  EXPECT_EQ(times.next(0.1), 0.2);
  EXPECT_EQ(times.next(0.2), 0.3);
  EXPECT_EQ(times.next(0.3), 0.5);
  EXPECT_EQ(times.next(0.5), 0.5);
}

}  // namespace
}  // namespace sidestream::sims
