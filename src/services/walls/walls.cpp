#include "services/walls/walls.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/signals_blocked.hpp"
#include "calls/rows.hpp"
#include "services/rules/call_rules.hpp"

namespace k2k::services {

namespace {

// Compared, never followed: the walls live as long as a thread behind them serves.
thread_local const Walls* walls_of_thread = nullptr;

bool refused_by(const Walls::Wanted& wanted, std::uint16_t number) {
  if (refusal_of(number) != nullptr) return true;
  if (wanted.openness == Openness::known_only && !calls::is_basic(calls::find(number))) return true;
  return wanted.rules != nullptr && wanted.rules->refuses(number);
}

}  // namespace

Walls::Walls(FilterProgram program, WallKernel kernel)
    : program_(std::move(program)), kernel_(std::move(kernel)) {}

Result<std::shared_ptr<const Walls>> Walls::create(const Wanted& wanted, WallKernel kernel) {
  const auto refuses = [&wanted](std::uint16_t number) { return refused_by(wanted, number); };
  std::shared_ptr<Walls> walls(new Walls(filter_program(refuses, ::getpid()), std::move(kernel)));
  int filter_error = 0;
  try {
    const SignalsBlocked blocked;
    // A thread of its own: the trial cannot be undone.
    std::thread trial([&] { filter_error = walls->kernel_.set_filter(walls->program_); });
    trial.join();
  } catch (const std::system_error&) {
    return Error{EAGAIN,
                 "no thread could be started to try server.walls; raise the limit on processes: "
                 "ulimit -u"};
  }
  if (filter_error != 0) {
    walls->program_.clear();
    walls->missing_ = fmt::format(
        "no seccomp filter ({}): the calls that the policy refuses are refused by K2K alone; use a "
        "kernel with CONFIG_SECCOMP_FILTER, and allow seccomp in the container's profile",
        std::strerror(filter_error));
  }
  if (wanted.strict && !walls->missing_.empty()) {
    return Error{ENOTSUP,
                 fmt::format("server.walls = \"strict\" cannot be kept: {}; or set server.walls = "
                             "\"on\" to run without it",
                             walls->missing_)};
  }
  return std::shared_ptr<const Walls>(std::move(walls));
}

int Walls::enclose() const {
  if (!program_.empty()) {
    if (const int error = kernel_.set_filter(program_); error != 0) return error;
  }
  inherit();
  return 0;
}

bool Walls::enclose_this_thread() const { return walls_of_thread == this; }
void Walls::inherit() const { walls_of_thread = this; }

}  // namespace k2k::services
