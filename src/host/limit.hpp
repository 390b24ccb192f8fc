#pragma once
// The administrator's word: which part of the CPU time of all online cores the requests of device
// code may take, over all runtimes of this machine.
//
// One line, `k2k-host-limit 1 0.05`: what it is, version, fraction. It is replaced as a whole, so a
// reader sees the old one or the new one. A file of that line, made at boot (systemd-tmpfiles), is
// as good as the command.
//
// Threading: pure functions of the file system.

#include <optional>

#include "base/result.hpp"
#include "host/place.hpp"

namespace k2k::host {

inline constexpr double limit_min = 0.0001;

// Nothing where there is no limit. Errors: those of open_place() but ENOENT; EPERM if somebody else
// than the place's owner could have written it; EINVAL if it is no limit of this version.
Result<std::optional<double>> read_limit(const Place& place);

// Makes the place if need be. Errors: EINVAL outside limit_min to 1; EACCES and EPERM for whom it
// is not to say; those of open_place(); others of the file system. The limit is then what it was.
Status write_limit(const Place& place, double fraction);

// Afterwards there is no limit. Errors: as write_limit().
Status remove_limit(const Place& place);

}  // namespace k2k::host
