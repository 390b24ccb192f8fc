#pragma once
// The metrics page of a process: one page per port, shared by all its runtimes.
//
// Threading: publish_metrics() and the end of a source from any thread; the page's threads call
// `stats`, never after the source has ended.

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "server/account/stats.hpp"

namespace k2k::runtime {

class MetricsSource;  // One runtime's part of a page. Ends with its last owner.

// Errors: as control::HttpPage::start().
Result<std::shared_ptr<MetricsSource>> publish_metrics(std::uint32_t port,
                                                       std::function<server::Stats()> stats);

}  // namespace k2k::runtime
