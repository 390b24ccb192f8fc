#pragma once
// The administrator's limit: the fraction of all online cores' CPU time that the requests of device
// code may take, over all runtimes of this machine.
//
// One line, `k2k-host-limit 1 0.05`: a name, the version, the fraction. It is replaced as a whole,
// so a reader sees the old one or the new one. A file with that line, made at boot
// (systemd-tmpfiles), has the same effect as the command.
//
// Threading: pure functions of the file system.

#include <optional>

#include "base/result.hpp"
#include "host/place.hpp"

namespace k2k::host {

inline constexpr double limit_min = 0.0001;

// nullopt if there is no limit. Errors: as open_place() except ENOENT; EPERM, a user other than the
// folder's owner could have written it; EINVAL, not a limit of this version.
Result<std::optional<double>> read_limit(const Place& place);

// Makes the folder if needed. Errors: EINVAL outside limit_min to 1; EACCES and EPERM for users who
// may not set the limit; as open_place(); others of the file system. On an error the limit is
// unchanged.
Status write_limit(const Place& place, double fraction);

// Afterwards there is no limit. Errors: as write_limit().
Status remove_limit(const Place& place);

}  // namespace k2k::host
