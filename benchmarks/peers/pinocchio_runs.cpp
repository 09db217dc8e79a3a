// Pinocchio from C++: runs of a tree with springs, without a call of Python in them. Compiled by pinocchio_peer.py.
// Runge and Kutta's steps of order 4, on the configuration's manifold, 3 and 2; and SciPy's DOP853 (Hairer, Norsett,
// Wanner: Solving Ordinary Differential Equations I, II.5) with its coefficients, its error control, its interpolation.
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/model.hpp>
#include <functional>
#include <vector>

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using Rows = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using Given = Eigen::Map<const Vector>;

struct Rope { int bodies[2]; Eigen::Vector3d points[2]; double stiffness, length; };

struct System {
  pin::Model model;
  Matrix K, D, B, R;  // R: inertia of rotors that turn with what carries them
  pin::FrameIndex tip;
  bool free, soft, factored;  // factored: the inertia matrix, in the place of the articulated body algorithm
  int balls = 0;  // all joints are ball joints, or none is
  std::vector<Rope> ropes;
};

struct Runner {  // what one thread needs
  const System& s;
  pin::Data data;
  Vector u, tau, a, q, v;
  Matrix M;
  Eigen::LLT<Matrix> solver;
  pinocchio::container::aligned_vector<pin::Force> forces;
  explicit Runner(const System& system)
      : s(system), data(system.model), u(Vector::Zero(system.model.nv)), tau(u), a(u), q(system.model.nq), v(u),
        forces(system.model.njoints, pin::Force::Zero()) {}

  const Vector& rate(const Vector& q, const Vector& v) {
    tau = u;
    if (s.soft) {
      const int first = s.free ? 6 : 0;
      tau.noalias() -= s.K.rightCols(s.model.nv - first) * q.tail(s.model.nv - first);
      tau.noalias() -= s.D * v;
    }
    if (!s.ropes.empty()) {
      pull(q);
      return pin::aba(s.model, data, q, v, tau, forces, pin::Convention::WORLD);
    }
    if (!s.factored) return pin::aba(s.model, data, q, v, tau, pin::Convention::WORLD);
    pin::crba(s.model, data, q, pin::Convention::WORLD);
    M = data.M.selfadjointView<Eigen::Upper>();
    M += s.R;
    a = tau - pin::nonLinearEffects(s.model, data, q, v);
    solver.compute(M);
    solver.solveInPlace(a);
    return a;
  }

  void pull(const Vector& q);
  void flow(const Vector& x, Eigen::Ref<Vector> out);

  void place(const Vector& q, double* out) {
    pin::framesForwardKinematics(s.model, data, q);
    Eigen::Map<Eigen::Vector3d> found(out);
    found = data.oMf[s.tip].translation();
  }

  void rk4(Vector& q, Vector& v, double h, Vector (&k)[4], Vector (&g)[4], Vector& p) {
    const double c[4] = {0.0, 0.5, 0.5, 1.0};
    for (int i = 0; i < 4; i++) {
      if (i == 0) { k[i] = v; p = q; }
      else {
        k[i] = v + c[i] * h * g[i - 1];
        if (s.free) pin::integrate(s.model, q, c[i] * h * k[i - 1], p);
        else p = q + c[i] * h * k[i - 1];
      }
      g[i] = rate(p, k[i]);
    }
    k[0] = (h / 6) * (k[0] + 2 * k[1] + 2 * k[2] + k[3]);
    if (s.free) { pin::integrate(s.model, q, k[0], p); q = p; }
    else q += k[0];
    v += (h / 6) * (g[0] + 2 * g[1] + 2 * g[2] + g[3]);
  }

  void rk3(Vector& q, Vector& v, double h, Vector (&k)[4], Vector (&g)[4], Vector& p) {  // Kutta's; no free base
    k[0] = v;
    g[0] = rate(q, v);
    k[1] = v + (h / 2) * g[0]; p = q + (h / 2) * k[0];
    g[1] = rate(p, k[1]);
    k[2] = v - h * g[0] + 2 * h * g[1]; p = q - h * k[0] + 2 * h * k[1];
    g[2] = rate(p, k[2]);
    q += (h / 6) * (k[0] + 4 * k[1] + k[2]);
    v += (h / 6) * (g[0] + 4 * g[1] + g[2]);
  }

  void rk2(Vector& q, Vector& v, double h, Vector (&k)[4], Vector (&g)[4], Vector& p) {  // midpoint; no free base
    g[0] = rate(q, v);
    k[1] = v + (h / 2) * g[0]; p = q + (h / 2) * v;
    g[1] = rate(p, k[1]);
    q += h * k[1];
    v += h * g[1];
  }
};

// -- Cables and ball joints ---------------------------------------------------------------------------------------------

void Runner::pull(const Vector& q) {  // forces of taut cables, in the frames of the joints
  pin::forwardKinematics(s.model, data, q);
  for (auto& force : forces) force.setZero();
  for (const Rope& rope : s.ropes) {
    const Eigen::Vector3d apart =
        data.oMi[rope.bodies[1]].act(rope.points[1]) - data.oMi[rope.bodies[0]].act(rope.points[0]);
    const double distance = apart.norm(), tension = rope.stiffness * (distance - rope.length);
    if (tension <= 0) continue;
    for (int i = 0; i < 2; i++) {
      const int body = rope.bodies[i];
      const Eigen::Vector3d f = data.oMi[body].rotation().transpose() * apart * ((i ? -tension : tension) / distance);
      forces[body] += pin::Force(f, rope.points[i].cross(f));
    }
  }
}

// Kutta's methods of order 4, 3 and 2 with quaternions among the states.
void turn(Runner& run, Vector& x, double h, int order, Matrix& K, Vector& y) {
  static const double A[3][3][3] = {{{0.5}}, {{0.5}, {-1.0, 2.0}}, {{0.5}, {0.0, 0.5}, {0.0, 0.0, 1.0}}};
  static const double B[3][4] = {{0.0, 1.0}, {1.0 / 6, 4.0 / 6, 1.0 / 6}, {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6}};
  for (int i = 0; i < order; i++) {
    y = x;
    for (int j = 0; j < i; j++) y += (h * A[order - 2][i - 1][j]) * K.col(j);
    run.flow(y, K.col(i));
  }
  for (int i = 0; i < order; i++) x += (h * B[order - 2][i]) * K.col(i);
  for (int i = 0; i < run.s.balls; i++) x.segment<4>(4 * i).normalize();
}

// -- SciPy's DOP853 ---------------------------------------------------------------------------------------------------

static void turned(Eigen::Ref<Eigen::Vector4d> q, const Eigen::Vector3d& w, Eigen::Ref<Eigen::Vector4d> out) {
  q.normalize();
  const Eigen::Vector3d im = q.head<3>();
  out.head<3>() = 0.5 * (q[3] * w + im.cross(w));
  out[3] = -0.5 * im.dot(w);
}

void Runner::flow(const Vector& x, Eigen::Ref<Vector> out) {  // quaternions are among the states
  const int nq = s.model.nq, n = x.size();
  q = x.head(nq); v = x.tail(n - nq);
  if (s.balls) {
    for (int i = 0; i < s.balls; i++) turned(q.segment<4>(4 * i), v.segment<3>(3 * i), out.segment<4>(4 * i));
  } else if (s.free) {
    turned(q.segment<4>(3), v.segment<3>(3), out.segment<4>(3));
    out.head<3>() = Eigen::Quaterniond(q[6], q[3], q[4], q[5]) * v.head<3>();
    out.segment(7, nq - 7) = v.tail(nq - 7);
  } else out.head(nq) = v;
  out.tail(n - nq) = rate(q, v);
}

struct Coefficients { Rows A; Given B, E3, E5; Rows D; };

struct Adaptive {
  Runner& run;
  const Coefficients& c;
  double rtol, atol;
  int n, nq;
  Matrix K, F;
  Vector x, next, f, stage, scale, q;

  Adaptive(Runner& runner, const Coefficients& given, double r, double a)
      : run(runner), c(given), rtol(r), atol(a), n(runner.s.model.nq + runner.s.model.nv), nq(runner.s.model.nq),
        K(n, 16), F(n, 7), x(n), next(n), f(n), stage(n), scale(n), q(nq) {}

  double norm(const Vector& y) const { return std::sqrt(y.squaredNorm() / n); }

  double first(double span) {  // scipy.integrate._ivp.common.select_initial_step
    scale = atol + rtol * x.array().abs();
    const double d0 = norm(x.cwiseQuotient(scale)), d1 = norm(f.cwiseQuotient(scale));
    const double h0 = std::min(d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1, span);
    stage = x + h0 * f;
    run.flow(stage, K.col(0));
    const double d2 = norm((K.col(0) - f).cwiseQuotient(scale)) / h0;
    const double h1 = d1 <= 1e-15 && d2 <= 1e-15 ? std::max(1e-6, 1e-3 * h0)
                                                 : std::pow(0.01 / std::max(d1, d2), 1.0 / 8);
    return std::min({100 * h0, h1, span});
  }

  // From a to b; `sample` is given each time inside, in order, with the state there.
  bool through(double a, double b, const double*& t, const double* end, const std::function<void()>& sample) {
    run.flow(x, f);
    double h = first(b - a), now = a;
    bool rejected = false;
    for (long steps = 0; now < b; steps++) {
      if (steps > 2000000 || !(h > 1e-14)) return false;
      h = std::min(h, b - now);
      K.col(0) = f;
      for (int i = 1; i < 12; i++) {
        stage.noalias() = x + K.leftCols(i) * (h * c.A.row(i).head(i).transpose());
        run.flow(stage, K.col(i));
      }
      next.noalias() = x + K.leftCols(12) * (h * c.B);
      run.flow(next, K.col(12));
      scale = atol + rtol * x.array().abs().max(next.array().abs());
      const double e5 = (K.leftCols(13) * c.E5).cwiseQuotient(scale).squaredNorm();
      const double e3 = (K.leftCols(13) * c.E3).cwiseQuotient(scale).squaredNorm();
      const double error = e5 == 0 && e3 == 0 ? 0.0 : h * e5 / std::sqrt((e5 + 0.01 * e3) * n);
      if (!(error < 1)) {
        h *= std::isfinite(error) ? std::max(0.2, 0.9 * std::pow(error, -1.0 / 8)) : 0.2;
        rejected = true;
        continue;
      }
      const double then = b - now - h < 1e-15 * b ? b : now + h;
      if (t < end && *t <= then) interpolate(now, then, h, t, end, sample);
      const double factor = error == 0 ? 10.0 : std::min(10.0, 0.9 * std::pow(error, -1.0 / 8));
      x.swap(next);
      f = K.col(12);
      now = then;
      h *= rejected ? std::min(1.0, factor) : factor;
      rejected = false;
    }
    return true;
  }

  void interpolate(double now, double then, double h, const double*& t, const double* end,
                   const std::function<void()>& sample) {
    for (int i = 13; i < 16; i++) {
      stage.noalias() = x + K.leftCols(i) * (h * c.A.row(i).head(i).transpose());
      run.flow(stage, K.col(i));
    }
    F.col(0) = next - x;
    F.col(1) = h * K.col(0) - F.col(0);
    F.col(2) = 2 * F.col(0) - h * (K.col(12) + K.col(0));
    F.rightCols(4).noalias() = h * K * c.D.transpose();
    for (; t < end && *t <= then; t++) {
      const double along = (*t - now) / h;
      stage.setZero();
      for (int i = 6; i >= 0; i--) stage = (stage + F.col(i)) * (i % 2 == 0 ? along : 1 - along);
      q = (x + stage).head(nq);
      if (run.s.free) q.segment<4>(3).normalize();
      for (int j = 0; j < run.s.balls; j++) q.segment<4>(4 * j).normalize();
      sample();
    }
  }
};

// -- what Python calls ------------------------------------------------------------------------------------------------

extern "C" {

// A tree: of each joint its parent, its kind and axis, its place (4, 4), and of its body mass, centre, inertia (13).
// A joint with a leader follows that with a ratio and an offset. A cable has two bodies, two points, stiffness, length.
void* made(int joints, const int* parents, const char* kinds, const double* axes, const double* places,
           const double* bodies, const double* armature, const double* gravity, const double* K, const double* D,
           const double* B, const double* R, int inputs, int carrier, const double* tip, const int* leaders,
           const double* gears, int cables, const int* ends, const double* ropes) {
  auto* s = new System;
  for (int i = 0; i < joints; i++) {
    const Eigen::Vector3d axis = Eigen::Map<const Eigen::Vector3d>(axes + 3 * i);
    const Rows place(places + 16 * i, 4, 4);
    const pin::SE3 at(Eigen::Matrix3d(place.topLeftCorner(3, 3)), Eigen::Vector3d(place.topRightCorner(3, 1)));
    pin::JointModel joint;
    switch (kinds[i]) {
      case 'X': joint = pin::JointModelRX(); break;
      case 'Y': joint = pin::JointModelRY(); break;
      case 'Z': joint = pin::JointModelRZ(); break;
      case 'R': joint = pin::JointModelRevoluteUnaligned(axis); break;
      case 'P': joint = pin::JointModelPrismaticUnaligned(axis); break;
      case 'S': joint = pin::JointModelSpherical(); s->balls++; break;
      default: joint = pin::JointModelFreeFlyer();
    }
    const double* body = bodies + 13 * i;
    const auto number = s->model.addJoint(parents[i], joint, at, "joint" + std::to_string(i));
    const Eigen::Matrix3d inertia = Eigen::Map<const Eigen::Matrix3d>(body + 4);
    s->model.appendBodyToJoint(number, pin::Inertia(body[0], Eigen::Vector3d(body[1], body[2], body[3]), inertia),
                               pin::SE3::Identity());
  }
  s->factored = false;
  for (int i = 0; i < joints; i++) {
    if (!leaders[i]) continue;
    const pin::Model before = s->model;
    s->model = pin::Model();
    pin::transformJointIntoMimic(before, leaders[i], i + 1, gears[2 * i], gears[2 * i + 1], s->model);
    s->factored = true;  // the articulated body algorithm has no such joints
  }
  for (int i = 0; i < cables; i++) {
    const double* of = ropes + 8 * i;
    s->ropes.push_back({{ends[2 * i], ends[2 * i + 1]},
                        {Eigen::Vector3d(of[0], of[1], of[2]), Eigen::Vector3d(of[3], of[4], of[5])}, of[6], of[7]});
  }
  const int n = s->model.nv;
  s->model.armature = Given(armature, n);
  s->model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(gravity);
  s->K = Rows(K, n, n); s->D = Rows(D, n, n); s->B = Rows(B, n, inputs); s->R = Rows(R, n, n);
  const pin::SE3 there(Eigen::Matrix3d::Identity(), Eigen::Vector3d(tip[0], tip[1], tip[2]));
  s->tip = s->model.addFrame(pin::Frame("tip", carrier, there, pin::OP_FRAME));
  s->free = kinds[0] == 'F';
  s->soft = !s->K.isZero(0) || !s->D.isZero(0);
  s->factored = s->factored || !s->R.isZero(0);
  return s;
}

void ended(void* system) { delete static_cast<System*>(system); }

// Steps of one length; torques from `jumps` on, or of the law u = -kp q - kd v each `hold` steps where hold > 0.
// out: (count / every + 1, 3).
void fixed(void* system, int order, const double* q0, const double* v0, double h, long count, long every, long hold,
           double kp, double kd, int jumps, const double* times, const double* torques, double* out) {
  const System& s = *static_cast<System*>(system);
  Runner run(s);
  Vector q = Given(q0, s.model.nq), v = Given(v0, s.model.nv), k[4], g[4], p(s.model.nq);
  for (int i = 0; i < 4; i++) { k[i].resize(s.model.nv); g[i].resize(s.model.nv); }
  const Rows loads(torques, jumps, s.B.cols());
  int piece = -1;
  Vector x(s.model.nq + s.model.nv), y = x;
  Matrix K(x.size(), 4);
  x << q, v;
  run.place(q, out);
  for (long i = 0; i < count; i++) {
    if (hold && i % hold == 0) run.u = -kp * q - kd * v;
    while (piece + 1 < jumps && times[piece + 1] <= (i + 0.5) * h) run.u = s.B * loads.row(++piece).transpose();
    if (s.balls) { turn(run, x, h, order, K, y); q = x.head(s.model.nq); }
    else if (order == 4) run.rk4(q, v, h, k, g, p);
    else if (order == 3) run.rk3(q, v, h, k, g, p);
    else run.rk2(q, v, h, k, g, p);
    if ((i + 1) % every == 0) run.place(q, out += 3);
  }
}

// DOP853, anew at each jump; out: (samples, 3). False where it came to no end.
int adaptive(void* system, const double* q0, const double* v0, double until, double rtol, double atol, int jumps,
             const double* times, const double* torques, const double* A, const double* B, const double* E3,
             const double* E5, const double* D, int samples, const double* at, double* out) {
  const System& s = *static_cast<System*>(system);
  Runner run(s);
  const Coefficients c{Rows(A, 16, 16), Given(B, 12), Given(E3, 13), Given(E5, 13), Rows(D, 4, 16)};
  Adaptive method(run, c, rtol, atol);
  method.x << Given(q0, s.model.nq), Given(v0, s.model.nv);
  const Rows loads(torques, jumps, s.B.cols());
  const double *t = at, *end = at + samples;
  const auto sample = [&] { run.place(method.q, out); out += 3; };
  for (int i = 0; i < std::max(jumps, 1); i++) {
    const double from = jumps ? std::max(0.0, times[i]) : 0.0, to = i + 1 < jumps ? std::min(until, times[i + 1]) : until;
    if (jumps) run.u = s.B * loads.row(i).transpose();
    if (to > from && !method.through(from, to, t, end, sample)) return 0;
  }
  return t == end;
}

// Runs of `q0`, `v0` (runs, n) to the end, on all cores; out: (runs, 3).
int many(void* system, int runs, int order, const double* q0, const double* v0, double until, long count,
         double rtol, double atol, const double* A, const double* B, const double* E3, const double* E5, const double* D, double* out) {
  const System& s = *static_cast<System*>(system);
  int failed = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : failed)
  for (int i = 0; i < runs; i++) {
    const double *q = q0 + i * s.model.nq, *v = v0 + i * s.model.nv;
    if (!count) {
      failed += !adaptive(system, q, v, until, rtol, atol, 0, nullptr, nullptr, A, B, E3, E5, D, 1, &until, out + 3 * i);
      continue;
    }
    double both[6];
    fixed(system, order, q, v, until / count, count, count, 0, 0.0, 0.0, 0, nullptr, nullptr, both);
    std::copy(both + 3, both + 6, out + 3 * i);
  }
  return !failed;
}
}
