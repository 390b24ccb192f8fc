#include "runtime/files/files.hpp"

#include <utility>

#include "router/ahead/read_ahead_limits.hpp"
#include "router/profile/profile.hpp"
#include "router/read/file_reader.hpp"

namespace k2k::runtime {

namespace {

// Shorter requests use the page cache, unprobed: most of their time is the cost of serving them.
constexpr std::uint32_t unprobed_bytes = 16 * 1024;

static_assert(FilesConfig{}.read_ahead_pages == router::read_ahead_pages_default);

}  // namespace

Result<std::shared_ptr<router::FileReader>> create_reader(const FilesConfig& config) {
  if (!config.router) return std::shared_ptr<router::FileReader>();
  const std::uint32_t pages = config.conservative ? 0 : config.read_ahead_pages;
  const bool where_free = config.read_ahead == FilesConfig::ReadAhead::automatic;
  auto reader = router::FileReader::create({.model_of = router::calibrated_model,
                                            .unprobed_bytes = unprobed_bytes,
                                            .small_file_bytes = router::small_file_bytes_default,
                                            .trial_bytes = router::trial_bytes_default,
                                            .partition_pages = pages,
                                            .partition_where_free = where_free,
                                            .exclusive = config.exclusive});
  if (!reader) return reader.error();
  return std::shared_ptr<router::FileReader>(std::move(reader).value());
}

}  // namespace k2k::runtime
