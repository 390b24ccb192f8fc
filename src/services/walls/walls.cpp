#include "services/walls/walls.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
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

std::string no_landlock(int error) {
  return fmt::format(
      "no Landlock ({}): K2K alone keeps the paths of kernels below the roots; use "
      "Linux 5.13 or later, boot with lsm=landlock,..., and allow landlock_* in the "
      "container's profile",
      std::strerror(error));
}

}  // namespace

Walls::Walls(FilterProgram program, WallKernel kernel)
    : program_(std::move(program)), kernel_(std::move(kernel)) {}

Status Walls::build_file_wall(const CallRules& rules) {
  const int version = kernel_.landlock_version();
  if (version <= 0) {
    misses(no_landlock(version == 0 ? ENOSYS : -version));
    return {};
  }
  auto made = file_wall(version, rules.root_folders());
  if (!made) return made.error();
  files_ = std::move(made).value();
  return {};
}

int Walls::restrict_files() const {
  return files_.ruleset.open() ? kernel_.restrict_files(files_.ruleset.number()) : 0;
}

Result<Walls::Trial> Walls::tried() const {
  Trial trial;
  try {
    const SignalsBlocked blocked;
    // A thread of its own: the trial cannot be undone.
    std::thread thread([&] {
      trial.files_error = restrict_files();
      trial.filter_error = kernel_.set_filter(program_);
    });
    thread.join();
  } catch (const std::system_error&) {
    return Error{EAGAIN,
                 "no thread could be started to try server.walls; raise the limit on processes: "
                 "ulimit -u"};
  }
  return trial;
}

void Walls::leave_out(const Trial& trial) {
  if (trial.files_error != 0) {
    files_ = FileWall();
    misses(no_landlock(trial.files_error));
  }
  if (trial.filter_error != 0) {
    program_.clear();
    misses(
        fmt::format("no seccomp filter ({}): K2K alone refuses the calls that the policy "
                    "refuses; use a Linux with CONFIG_SECCOMP_FILTER, and allow seccomp in the "
                    "container's profile",
                    std::strerror(trial.filter_error)));
  }
}

void Walls::misses(const std::string& sentence) {
  missing_ += (missing_.empty() ? "" : "; ") + sentence;
}

Result<std::shared_ptr<const Walls>> Walls::create(const Wanted& wanted, WallKernel kernel) {
  const auto refuses = [&wanted](std::uint16_t number) { return refused_by(wanted, number); };
  std::shared_ptr<Walls> walls(new Walls(filter_program(refuses, ::getpid()), std::move(kernel)));
  if (wanted.rules != nullptr && wanted.rules->has_roots()) {
    if (Status status = walls->build_file_wall(*wanted.rules); !status) return status.error();
  }
  const Result<Trial> trial = walls->tried();
  if (!trial) return trial.error();
  walls->leave_out(trial.value());
  if (wanted.strict && !walls->missing_.empty()) {
    return Error{ENOTSUP,
                 fmt::format("server.walls = \"strict\" cannot be kept: {}; or set server.walls = "
                             "\"on\" to run without",
                             walls->missing_)};
  }
  return std::shared_ptr<const Walls>(std::move(walls));
}

int Walls::enclose() const {
  if (const int error = restrict_files(); error != 0) return error;
  if (!program_.empty()) {
    if (const int error = kernel_.set_filter(program_); error != 0) return error;
  }
  inherit();
  return 0;
}

bool Walls::enclose_this_thread() const { return walls_of_thread == this; }
void Walls::inherit() const { walls_of_thread = this; }

}  // namespace k2k::services
