#include "services/walls/wall_kernel.hpp"

#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "services/raw.hpp"

namespace k2k::services {

namespace {

// Both walls need it: without it, a program with more rights could be started behind them.
int give_up_new_privileges() {
  const std::int64_t answer = raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul);
  return static_cast<int>(-answer);
}

}  // namespace

WallKernel WallKernel::of_linux() {
  return {
      .set_filter =
          [](const FilterProgram& program) {
            if (const int error = give_up_new_privileges(); error != 0) return error;
            const sock_fprog form{static_cast<unsigned short>(program.size()),
                                  const_cast<sock_filter*>(program.data())};
            // Without this flag, Linux before 5.16 slows the thread's loads and stores down
            // (speculative store bypass), against code that it does not run.
            return static_cast<int>(
                -raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &form));
          },
      .landlock_version =
          [] {
            return static_cast<int>(
                raw(SYS_landlock_create_ruleset, nullptr, 0ul, LANDLOCK_CREATE_RULESET_VERSION));
          },
      .restrict_files =
          [](int ruleset) {
            if (const int error = give_up_new_privileges(); error != 0) return error;
            return static_cast<int>(-raw(SYS_landlock_restrict_self, ruleset, 0ul));
          },
  };
}

}  // namespace k2k::services
