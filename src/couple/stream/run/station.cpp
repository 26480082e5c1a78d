#include "couple/stream/run/station.hpp"

#include <exception>
#include <utility>

#include "couple/async/cores.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::couple {

namespace {

constexpr std::chrono::milliseconds longest_nap{50};
constexpr double longest_early_s = 30.0;

}  // namespace

Station::Station(const std::string& block_address, const stream::Security& security, std::vector<int> cores,
                 stream::Server::Refused refused)
    : refused_(std::move(refused)),
      blocks_(block_address, security, longest_early_s, refused_),
      cores_(std::move(cores)) {}

Station::~Station() {
  end(0.0);
}

std::string Station::open(const std::string& address, const stream::Security& security) {
  control_.emplace(address, security, talk_limits, refused_);
  return control_->address();
}

void Station::begin(Broker* broker) {
  broker_ = broker;
  thread_ = std::thread([this] { work(); });
}

void Station::end(double longest_s) {
  if (!thread_.joinable()) return;
  farewell_s_ = longest_s;
  is_over_ = true;
  wake();
  thread_.join();
}

std::string Station::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Station::work() try {
  run_on(cores_);
  std::vector<const stream::Socket*> sockets;
  while (!is_over_) {
    sockets.clear();
    blocks_.add_sockets(sockets);
    if (control_) sockets.push_back(&*control_);
    stream::wait(sockets, &wake_up_, longest_nap);
    if (broker_ != nullptr) broker_->serve(*control_);
    blocks_.serve();
  }
  if (broker_ != nullptr) say_farewell();
} catch (const std::exception& problem) {
  const std::lock_guard lock(mutex_);
  failure_ = problem.what();
}

void Station::say_farewell() {
  const core::Stopwatch watch;
  const std::vector<const stream::Socket*> sockets{&*control_};
  broker_->tell_the_end(*control_);
  while (broker_->has_readers() && watch.seconds() < farewell_s_) {
    stream::wait(sockets, nullptr, longest_nap);
    broker_->tell_the_end(*control_);
  }
}

}  // namespace sidestream::couple
