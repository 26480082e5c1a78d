/// Sessions of sidestream.h for C++17: a run that ends with its scope, and errors as exceptions. Needs no more than
/// that header and the library (or its stub).
///
///     sidestream::Session run(MPI_COMM_WORLD, "analyses.toml", "runs/heat");
///     if (run.is_sidecar()) return;
///     run.set_mesh(mesh);                                     // on run.comm() from here on
///     run.set_array("temperature", "K", temperature.data());
///     run.begin(step, time);
///     while (run.goes_on()) { ...; run.step(++step, time); }
///     run.close();
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "sidestream.h"

namespace sidestream {

/// What a function of sidestream.h refused, with its message.
class SessionError : public std::runtime_error {
 public:
  explicit SessionError(int status) : std::runtime_error(sidestream_last_message()), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

/// A run of tasks and outputs beside this program. Members do what the functions of their names do.
class Session {
 public:
  Session(MPI_Comm comm, const std::string& config, const std::string& folder, int existing = SIDESTREAM_REFUSE,
          const std::string& name = "host") {
    sidestream_options options = SIDESTREAM_OPTIONS;
    options.name = name.c_str();
    options.config = config.c_str();
    options.folder = folder.c_str();
    options.existing = existing;
    check(sidestream_open(comm, &options, &session_, &comm_));
  }
  Session(MPI_Comm comm, const sidestream_options& options) {
    check(sidestream_open(comm, &options, &session_, &comm_));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Errors of an end that nobody waits for are lost: call `close`.
  ~Session() {
    if (!is_closed_) sidestream_close(session_);
  }

  bool is_sidecar() const { return comm_ == MPI_COMM_NULL; }
  MPI_Comm comm() const { return comm_; }
  void set_mesh(const sidestream_mesh& mesh) { check(sidestream_set_mesh(session_, &mesh)); }
  void set_field(const sidestream_field& field) { check(sidestream_set_field(session_, &field)); }
  void set_array(const std::string& name, const std::string& unit, double* array) {
    check(sidestream_set_array(session_, name.c_str(), unit.c_str(), SIDESTREAM_FLOAT64, array));
  }
  void set_array(const std::string& name, const std::string& unit, float* array) {
    check(sidestream_set_array(session_, name.c_str(), unit.c_str(), SIDESTREAM_FLOAT32, array));
  }
  void set_particles(const sidestream_particles& particles) { check(sidestream_set_particles(session_, &particles)); }
  void set_number(const std::string& name, double value) {
    check(sidestream_set_number(session_, name.c_str(), value));
  }
  void set_scale_factor(double value) { check(sidestream_set_scale_factor(session_, value)); }
  void set_progress(double progress) { check(sidestream_set_progress(session_, progress)); }
  void add_knob(const std::string& name, const std::string& meaning, double minimum, double maximum, double& value) {
    check(sidestream_add_knob(session_, name.c_str(), meaning.c_str(), minimum, maximum, &value));
  }
  void begin(std::int64_t& step, double& time) { check(sidestream_begin(session_, &step, &time)); }
  bool is_restarted() const { return sidestream_is_restarted(session_) != 0; }
  bool goes_on() const { return sidestream_goes_on(session_) != 0; }
  bool wants(const std::string& name) const {
    int is_wanted = 0;
    check(sidestream_wants(session_, name.c_str(), &is_wanted));
    return is_wanted != 0;
  }
  double next_time(double time) const {
    double next = 0.0;
    check(sidestream_next_time(session_, time, &next));
    return next;
  }
  void step(std::int64_t step, double time) { check(sidestream_step(session_, step, time)); }
  void progress() { check(sidestream_progress(session_)); }
  void close() {
    is_closed_ = true;
    check(sidestream_close(std::exchange(session_, nullptr)));
  }

 private:
  static void check(int status) {
    if (status != SIDESTREAM_OK) throw SessionError(status);
  }

  sidestream_session* session_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_closed_ = false;
};

}  // namespace sidestream
