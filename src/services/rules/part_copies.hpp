#pragma once
// Calls whose arguments lead to further pointers, behind a policy that names memory: vectors,
// messages of sockets, contents of extended attributes, the mask of pselect6. call_copies.hpp has
// the calls whose structures have a form of their own.
//
// Each try copies the structures once, judges all memory that the copies name, and lets Linux read
// the copies alone: a caller that changes its structure between the judgement and the call changes
// nothing. What Linux writes into a copy goes to the caller's structure, field by field.
//
// Threading: constant; any thread.

#include <cstdint>
#include <functional>
#include <string_view>

#include "services/nested.hpp"
#include "services/request.hpp"

namespace k2k::backend {
class Backend;
}
namespace k2k::router {
class Files;
}

namespace k2k::services {

class CallRules;

class PartCopies final : public PartJudge {
 public:
  // All outlive this. `rules` may be null, if no request comes here.
  PartCopies(CallRules* rules, const backend::Backend& backend, const router::Files& files)
      : rules_(rules), backend_(&backend), files_(&files) {}

  // Refuses with
  //   -EFAULT    a part beyond the ranges
  //   -EACCES    control data of a level of which K2K does not know whether it holds addresses
  //   -ENOBUFS   control data above control_bytes_max
  // and, as Linux does, -EINVAL, -EMSGSIZE or -E2BIG for a number of elements or a size of a
  // structure that K2K does not copy.
  std::int64_t make_call(const Request& request,
                         const std::function<std::int64_t(const Request&)>& make) const override;

 private:
  class Copies;

  [[nodiscard]] bool hold(std::uint64_t address, std::uint64_t bytes, bool writes) const;
  std::int64_t refuse(const Request& request, std::int64_t value, std::string_view why) const;

  CallRules* rules_;
  const backend::Backend* backend_;
  const router::Files* files_;
};

}  // namespace k2k::services
