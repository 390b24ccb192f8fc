#pragma once
// For tests of structures that are copied and judged: a policy that names the kernels' memory, the
// copies by it, and a page of the program that no call may change.
//
// Threading: one thread makes the requests.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/rules/call_judge.hpp"
#include "services/rules/call_rules.hpp"
#include "services/rules/giving_backend_fixture.hpp"
#include "services/rules/memory_ranges.hpp"
#include "services/rules/part_copies.hpp"
#include "services/services_fixture.hpp"

namespace k2k::services {

class CopiesTest : public ServicesTest {
 protected:
  // `layout_bytes`: of the test's own structures, which lie in the kernels' memory.
  void make_copies(WantedMemory memory, std::size_t layout_bytes) {
    WantedRules wanted;
    wanted.memory = std::move(memory);
    wanted.audit_file = log_;
    ::unlink(log_.c_str());
    auto made = CallRules::create(wanted);
    ASSERT_TRUE(made) << made.error().message;
    rules = made.value();
    copies = std::make_unique<PartCopies>(rules.get(), backend, files);
    ASSERT_LE(layout_bytes, backend.given.size());
  }
  void TearDown() override {
    EXPECT_EQ(std::count(heap.data(), heap.data() + heap.size(), 's'),
              static_cast<long>(heap.size()))
        << "memory of the program was written";
    ::unlink(log_.c_str());
    ServicesTest::TearDown();
  }

  // 0, or the answer of a request that is not executed.
  std::int64_t judge(Request& request) {
    CallJudge judge(backend, false, files, rules.get(), Openness::any, nullptr, copies.get());
    return judge(request);
  }
  template <class... Arguments>
  Request judged(long number, Arguments... arguments) {
    Request request = make(static_cast<std::uint16_t>(number), arguments...);
    EXPECT_EQ(judge(request), 0);
    EXPECT_EQ(request.parts, copies.get());
    return request;
  }
  template <class... Arguments>
  std::int64_t answer(long number, Arguments... arguments) {
    Request request = make(static_cast<std::uint16_t>(number), arguments...);
    const std::int64_t refused = judge(request);
    return refused != 0 ? refused : served(request);
  }
  // As if Linux made the call.
  std::int64_t answer_by(const Request& request, std::int64_t value) const {
    return copies->make_call(request, [value](const Request&) { return value; });
  }
  [[nodiscard]] std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  GivingBackend backend;
  const WholePages heap{1};
  char* const wild = static_cast<char*>(std::memset(heap.data(), 's', heap.size()));
  std::shared_ptr<CallRules> rules;
  std::unique_ptr<PartCopies> copies;

 private:
  // Tests run side by side, in processes of their own.
  const std::string log_ = testing::TempDir() + "k2k_copies_audit_" + std::to_string(::getpid());
};

}  // namespace k2k::services
