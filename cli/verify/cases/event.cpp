// Waiting for descriptors, and notification.

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

std::vector<Case> event_cases() {
  return {
      {SYS_eventfd, "a counter", {number(5)}, Answer::descriptor},
  };
}

}  // namespace k2k::cli::verify
