#pragma once
// The policy's answer to a single request, whose call nothing is known of yet. For tests.
//
// Threading: as admit() of services/policy.hpp.

#include "services/policy.hpp"

namespace k2k::services {

inline std::int64_t admit(const Request& request, Openness openness,
                          const backend::Backend& backend, const router::Files& files) {
  const bool hides_memory = backend.info().hides_memory;
  return admit(request, admission_of(request.number, request.row, openness, hides_memory), backend,
               files);
}

}  // namespace k2k::services
