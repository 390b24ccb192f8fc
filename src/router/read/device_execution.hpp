#pragma once
// As execution.hpp, for memory that the CPU cannot address: cached pieces go through an engine,
// too.
//
//   direct pieces   submitted together to the direct engine, which is polled
//   cached pieces   one after the other through the engine for the page cache, meanwhile
//
// execution.hpp describes the answers.
//
// Threading: one owner.

#include <span>
#include <vector>

#include "io/engine/engine.hpp"
#include "io/file/direct_file.hpp"
#include "router/plan/plan.hpp"
#include "router/read/execution.hpp"

namespace k2k::router {

class DeviceExecution {
 public:
  // Memory for requests of up to `pages` pages.
  explicit DeviceExecution(std::uint32_t pages);
  // As Execution::run(); the request's memory may lie anywhere. Expects engines with nothing
  // outstanding, and leaves them so.
  Outcome run(const FileRequest& request, const Plan& plan, const io::DirectFile& direct,
              io::Engine& cached_engine, io::Engine& direct_engine, bool proven);

 private:
  void make_transfers(const FileRequest& request, const io::DirectFile& direct);
  // Makes the shortest direct transfer through the page cache's engine, whose calls are pread(2)
  // alone; false if it was refused, and all come by the page cache.
  bool prove(io::Engine& cached_engine);
  void transfer(io::Engine& cached_engine, io::Engine& direct_engine,
                std::span<const io::Transfer> direct_ones);
  void note(std::span<const io::Completion> completions);

  std::vector<Piece> pieces_;  // In the file's order.
  std::vector<io::Transfer> direct_;
  std::vector<io::Transfer> cached_;
};

// pread(2) by an engine: until all is read, the file ends, or it fails. The bytes, or a negative
// errno if there is none. Expects an engine with nothing outstanding.
ssize_t read_all(const FileRequest& request, io::Engine& engine);

}  // namespace k2k::router
