#pragma once

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <functional>
#include <stdexcept>

namespace sidestream::test {

/// One ordinary differential equation dy/dt = f(y), integrated by CVODE of SUNDIALS (Hindmarsh et al. 2005, ACM TOMS
/// 31, 363): backward differentiation, Newton's method with differences.
class Cvode {
 public:
  Cvode(std::function<double(double)> f, double relative, double absolute) : f_(std::move(f)) {
    check(SUNContext_Create(nullptr, &context_));
    y_ = N_VNew_Serial(1, context_);
    memory_ = CVodeCreate(CV_BDF, context_);
    check(CVodeInit(memory_, &Cvode::evaluate, 0.0, y_));
    check(CVodeSetUserData(memory_, this));
    check(CVodeSStolerances(memory_, relative, absolute));
    matrix_ = SUNDenseMatrix(1, 1, context_);
    solver_ = SUNLinSol_Dense(y_, matrix_, context_);
    check(CVodeSetLinearSolver(memory_, solver_, matrix_));
    check(CVodeSetMaxNumSteps(memory_, 1'000'000));
  }
  ~Cvode() {
    CVodeFree(&memory_);
    SUNLinSolFree(solver_);
    SUNMatDestroy(matrix_);
    N_VDestroy(y_);
    SUNContext_Free(&context_);
  }
  Cvode(const Cvode&) = delete;
  Cvode& operator=(const Cvode&) = delete;

  /// y(t) with y(0) = `y`.
  double integrate(double y, double t) {
    NV_Ith_S(y_, 0) = y;
    check(CVodeReInit(memory_, 0.0, y_));
    check(CVodeSetStopTime(memory_, t));
    realtype reached = 0.0;
    check(CVode(memory_, t, y_, &reached, CV_NORMAL));
    return NV_Ith_S(y_, 0);
  }

 private:
  static int evaluate(realtype, N_Vector y, N_Vector rate, void* self) {
    NV_Ith_S(rate, 0) = static_cast<Cvode*>(self)->f_(NV_Ith_S(y, 0));
    return 0;
  }
  static void check(int status) {
    if (status < 0) throw std::runtime_error("CVODE gave up with " + std::to_string(status));
  }

  std::function<double(double)> f_;
  SUNContext context_ = nullptr;
  N_Vector y_ = nullptr;
  void* memory_ = nullptr;
  SUNMatrix matrix_ = nullptr;
  SUNLinearSolver solver_ = nullptr;
};

}  // namespace sidestream::test
