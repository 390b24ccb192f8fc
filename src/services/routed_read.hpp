#pragma once
// read(2) of a file by the router: large ones of regular files, at the file's own position.
//
// The position is advanced before the bytes are read, so that every other user of the position gets
// other bytes; afterwards it is moved back over bytes that were not read. Threads of this process
// take and give back one after the other. What can be seen: in another process that shares the
// description, while a read falls short because the file was cut meanwhile, the position is ahead
// for that moment.
//
// Threading: any thread.

#include <cstdint>
#include <optional>

#include "services/services.hpp"

namespace k2k::router {
class FileReader;
}

namespace k2k::services {

// For shorter reads, two lseek(2) cost more than the router can save.
inline constexpr std::uint64_t routed_read_bytes_min = 64 << 10;

// True if the thread may block.
enum class Patience : std::uint8_t { none, endless };

// The count, or a negative errno; -EAGAIN without patience: ask again with it. Into registered
// memory (router/read/registered_memory.hpp) also without `files`, and then the thread is kept.
// Nothing where the kernel's own read does as well or knows better: another call, less than
// routed_read_bytes_min wanted or left up to the file's end, no regular file, a descriptor that may
// not be read or is O_DIRECT.
std::optional<std::int64_t> routed_read(const Request& request, router::FileReader* files,
                                        Patience patience);

}  // namespace k2k::services
