// The engine of pinned buffers: file data pass through them on the way to and from a device.
//
//   read    free ─▶ filling (files engine) ─▶ filled ─▶ copying (device) ─▶ free
//   write   free ─▶ copying (device) ─▶ filled ─▶ emptying (files engine) ─▶ emptied ─▶ free
//
// A job is a transfer in progress: the list of its buffers, in the file's order. Buffers are given
// to the oldest job with parts that have not begun, so a job with buffers always makes progress:
// filling ends by itself, and the first filled buffer of a job waits for no other. Only the first
// buffer of a list leaves it and is counted, so the count ends at the first short part.

#include <sys/types.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/engine/blocking.hpp"
#include "io/engine/fixed_queue.hpp"
#include "io/engine/look_wait.hpp"
#include "io/file/page_range.hpp"
#include "io/gpu/device_engines.hpp"

namespace k2k::io {

namespace {

constexpr std::uint32_t buffers_max = 256;
constexpr std::size_t buffer_bytes_max = std::size_t{64} << 20;
constexpr std::uint32_t none = ~std::uint32_t{0};
constexpr std::size_t polled_at_once = 64;

class Staging final : public Engine {
 public:
  Staging(const StagingConfig& config, std::unique_ptr<CopyQueue> queue,
          std::unique_ptr<Engine> files)
      : capabilities_{"staging", true, config.outstanding, true, config.buffer_bytes},
        buffer_bytes_(config.buffer_bytes),
        queue_(std::move(queue)),
        files_(std::move(files)),
        buffers_(config.buffers),
        jobs_(config.outstanding),
        waiting_(config.outstanding),
        completed_(config.outstanding),
        creator_(::getpid()) {
    free_buffers_.reserve(config.buffers);
    for (std::uint32_t buffer = config.buffers; buffer > 0; --buffer) {
      free_buffers_.push_back(buffer - 1);
    }
    free_jobs_.reserve(config.outstanding);
    for (std::uint32_t job = config.outstanding; job > 0; --job) free_jobs_.push_back(job - 1);
    active_.reserve(config.buffers + 1);
  }

  ~Staging() override {
    if (creator_ != ::getpid()) {  // Copies and their buffers are the parent's.
      static_cast<void>(queue_.release());
      return;
    }
    ending_ = true;
    for (const std::uint32_t job : active_) jobs_[job].ended = true;
    std::array<Completion, polled_at_once> ignored;
    while (outstanding_ > 0) poll(ignored, ignored.size());
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::size_t outstanding() const override { return outstanding_; }

  std::size_t submit(std::span<const Transfer> transfers) override {
    const std::size_t room = capabilities_.outstanding_max - outstanding_;
    const std::size_t count = std::min(transfers.size(), room);
    for (const Transfer& transfer : transfers.first(count)) {
      const std::uint32_t job = free_jobs_.back();
      free_jobs_.pop_back();
      jobs_[job] = Job();
      jobs_[job].transfer = transfer;
      jobs_[job].transfer.bytes = std::min(transfer.bytes, transfer_bytes_max);
      waiting_.push(job);
    }
    outstanding_ += count;
    go_on();
    return count;
  }

  std::size_t poll(std::span<Completion> into, std::size_t least) override {
    const std::size_t reachable = std::min({least, into.size(), outstanding_});
    std::size_t count = 0;
    int looks = 0;
    while (true) {
      const bool moved = go_on();
      while (count < into.size() && completed_.size() > 0) into[count++] = completed_.pop();
      if (count >= reachable) break;
      if (moved) {
        looks = 0;
      } else {
        wait(looks++);
      }
    }
    outstanding_ -= count;
    return count;
  }

 private:
  enum class State : std::uint8_t { free, filling, filled, copying, emptying, emptied };

  struct Buffer {
    State state = State::free;
    std::uint32_t job = none;
    std::uint32_t next = none;  // The job's, behind it in the file.
    std::uint64_t offset = 0;   // In the file.
    std::size_t bytes = 0;
    std::int64_t result = 0;  // Of the files engine.
  };

  struct Job {
    Transfer transfer;
    std::size_t begun = 0;  // Bytes that got a buffer.
    std::size_t moved = 0;  // Bytes that arrived, from the first on.
    std::uint32_t first = none;
    std::uint32_t last = none;
    int code = 0;
    bool ended = false;   // Nothing more is begun.
    bool frozen = false;  // Nothing more is counted: a part before it did not arrive.
    bool touched = false;

    [[nodiscard]] bool is_read() const { return transfer.direction == Direction::read; }
    [[nodiscard]] bool all_begun() const { return ended || (touched && begun == transfer.bytes); }
  };

  // All that can be done without waiting. True if anything was.
  bool go_on() {
    bool moved = take_completions(0);
    moved |= advance_all();
    while (begin_part()) {
      moved = true;
      // A files engine that is done at once: let the device copy while the next part is read.
      if (!files_->capabilities().asynchronous) advance_all();
    }
    return moved;
  }

  bool take_completions(std::size_t least) {
    std::array<Completion, polled_at_once> some;
    std::size_t taken = 0;
    while (true) {
      const std::size_t count = files_->poll(some, taken == 0 ? least : 0);
      for (const Completion& each : std::span(some).first(count)) {
        Buffer& buffer = buffers_[each.tag];
        buffer.result = each.result;
        buffer.state = buffer.state == State::filling ? State::filled : State::emptied;
      }
      taken += count;
      if (count < some.size()) return taken > 0;
    }
  }

  bool advance_all() {
    bool moved = false;
    std::size_t kept = 0;
    for (const std::uint32_t job : active_) {
      moved |= jobs_[job].is_read() ? advance_read(jobs_[job]) : advance_write(jobs_[job]);
      if (jobs_[job].first == none && jobs_[job].all_begun()) {
        complete(job);
        moved = true;
      } else {
        active_[kept++] = job;
      }
    }
    active_.resize(kept);
    return moved;
  }

  void complete(std::uint32_t number) {
    const Job& job = jobs_[number];
    const bool failed = job.moved == 0 && job.code != 0;
    completed_.push({job.transfer.tag,
                     failed ? -std::int64_t{job.code} : static_cast<std::int64_t>(job.moved)});
    free_jobs_.push_back(number);
    if (issuing_ == number) issuing_ = none;
  }

  std::byte* device_of(const Job& job, const Buffer& buffer) const {
    return job.transfer.memory + (buffer.offset - job.transfer.offset);
  }

  static void end(Job& job, int code) {
    if (!job.ended) job.code = code;
    job.ended = true;
  }

  // Its first part did not arrive: parts behind it do not count.
  static void fail_first(Job& job, int code) {
    if (!job.frozen) job.code = code;
    job.ended = job.frozen = true;
  }

  void release_first(Job& job) {
    Buffer& buffer = buffers_[job.first];
    free_buffers_.push_back(job.first);
    job.first = buffer.next;
    if (job.first == none) job.last = none;
    buffer = Buffer();
  }

  // True if the copy of this buffer has ended; then `code` is its result.
  bool has_copied(std::uint32_t number, int& code) {
    const CopyQueue::Look look = queue_->look(number);
    if (!look.done) return false;
    --copies_;
    code = look.code;
    return true;
  }

  bool advance_read(Job& job) {
    bool moved = begin_copies(job);
    while (job.first != none) {
      Buffer& buffer = buffers_[job.first];
      int code = 0;
      if (buffer.state == State::copying) {
        if (!has_copied(job.first, code)) break;
        if (code != 0) fail_first(job, code);
        if (!job.frozen) job.moved += static_cast<std::size_t>(buffer.result);
      } else if (buffer.state != State::filled) {
        break;
      }
      // A filled one at the front here holds nothing, or comes behind a part that stayed short.
      release_first(job);
      moved = true;
    }
    return moved;
  }

  // In the file's order, as far as parts are filled. Empty parts stay filled.
  bool begin_copies(Job& job) {
    bool moved = false;
    for (std::uint32_t number = job.first; number != none; number = buffers_[number].next) {
      Buffer& buffer = buffers_[number];
      if (buffer.state == State::copying) continue;
      if (buffer.state != State::filled) break;
      if (job.ended) continue;
      if (buffer.result < 0) end(job, static_cast<int>(-buffer.result));
      if (buffer.result > 0) {
        const int refused = queue_->copy_in(number, device_of(job, buffer),
                                            static_cast<std::size_t>(buffer.result));
        if (refused != 0) {
          end(job, refused);
        } else {
          buffer.state = State::copying;
          ++copies_;
        }
        moved = true;
      }
      if (buffer.result < static_cast<std::int64_t>(buffer.bytes)) end(job, 0);
    }
    return moved;
  }

  bool advance_write(Job& job) {
    bool moved = false;
    while (job.first != none) {
      Buffer& buffer = buffers_[job.first];
      if (buffer.state == State::copying) {
        int code = 0;
        if (!has_copied(job.first, code)) break;
        moved = true;
        buffer.state = State::filled;
        if (code != 0) fail_first(job, code);
      }
      if (buffer.state == State::filled && !job.ended) {
        moved = true;
        buffer.state = State::emptying;
        hand_over(job.first, Direction::write);
        if (!files_->capabilities().asynchronous) take_completions(1);
      }
      if (buffer.state == State::emptying) break;
      if (buffer.state == State::emptied) written(job, buffer);
      release_first(job);
      moved = true;
    }
    return moved;
  }

  static void written(Job& job, const Buffer& buffer) {
    if (buffer.result < 0) return fail_first(job, static_cast<int>(-buffer.result));
    job.moved += static_cast<std::size_t>(buffer.result);
    if (buffer.result < static_cast<std::int64_t>(buffer.bytes)) job.ended = job.frozen = true;
  }

  // Gives a free buffer to the oldest job that has parts left.
  bool begin_part() {
    drop_begun();
    if (free_buffers_.empty() || (issuing_ == none && waiting_.size() == 0)) return false;
    if (issuing_ == none) {
      issuing_ = waiting_.pop();
      active_.push_back(issuing_);
    }
    Job& job = jobs_[issuing_];
    if (ending_) {
      job.ended = true;
      return true;
    }
    job.touched = true;
    const std::uint32_t number = free_buffers_.back();
    free_buffers_.pop_back();
    const std::uint64_t offset = job.transfer.offset + job.begun;
    const std::size_t bytes =
        std::min(job.transfer.bytes - job.begun, buffer_bytes_ - offset % buffer_bytes_);
    buffers_[number] = {State::filling, issuing_, none, offset, bytes, 0};
    job.begun += bytes;
    (job.first == none ? job.first : buffers_[job.last].next) = number;
    job.last = number;
    if (job.is_read()) {
      hand_over(number, Direction::read);
      if (!files_->capabilities().asynchronous) take_completions(1);
    } else {
      fill_from_device(job, number);
    }
    return true;
  }

  void fill_from_device(Job& job, std::uint32_t number) {
    Buffer& buffer = buffers_[number];
    buffer.state = State::filled;
    if (buffer.bytes == 0) return;  // A write of nothing is still Linux' to answer.
    const int refused = queue_->copy_out(number, device_of(job, buffer), buffer.bytes);
    if (refused != 0) {
      // Parts before it are still written; this part and later ones are not.
      buffer.result = -refused;
      refuse_from(job, number, refused);
      return;
    }
    buffer.state = State::copying;
    ++copies_;
  }

  // The job's earlier parts are in flight; a part that never gets its bytes ends the job.
  void refuse_from(Job& job, std::uint32_t number, int code) {
    if (job.first == number) return fail_first(job, code);
    std::uint32_t before = job.first;
    while (buffers_[before].next != number) before = buffers_[before].next;
    buffers_[before].next = none;
    job.last = before;
    job.begun -= buffers_[number].bytes;
    job.transfer.bytes = job.begun;
    job.code = code;
    buffers_[number] = Buffer();
    free_buffers_.push_back(number);
  }

  // All parts of the job in `issuing_` have begun.
  void drop_begun() {
    if (issuing_ != none && jobs_[issuing_].all_begun()) issuing_ = none;
  }

  void hand_over(std::uint32_t number, Direction direction) {
    const Buffer& buffer = buffers_[number];
    const Transfer transfer{jobs_[buffer.job].transfer.file,
                            buffer.offset,
                            queue_->buffer(number).data(),
                            buffer.bytes,
                            number,
                            direction};
    K2K_EXPECT(files_->submit({&transfer, 1}) == 1);  // As many as buffers fit.
  }

  void wait(int looks) {
    if (copies_ == 0 && files_->outstanding() > 0) {
      take_completions(1);
    } else {
      wait_after_look(looks);
    }
  }

  Capabilities capabilities_;
  std::size_t buffer_bytes_;
  std::unique_ptr<CopyQueue> queue_;
  std::unique_ptr<Engine> files_;  // Ends before the buffers that it writes to.
  std::vector<Buffer> buffers_;
  std::vector<std::uint32_t> free_buffers_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> free_jobs_;
  FixedQueue<std::uint32_t> waiting_;  // Jobs that have no buffer yet.
  std::uint32_t issuing_ = none;       // The job with parts being begun.
  std::vector<std::uint32_t> active_;  // Jobs that have, the oldest first.
  FixedQueue<Completion> completed_;
  std::size_t outstanding_ = 0;
  std::size_t copies_ = 0;  // Under way.
  bool ending_ = false;
  pid_t creator_;
};

Status check(const StagingConfig& config, const Engine* files) {
  if (config.buffers < 1 || config.buffers > buffers_max) {
    return Error{EINVAL,
                 fmt::format("staging: {} buffers: give 1 to {}", config.buffers, buffers_max)};
  }
  if (config.buffer_bytes == 0 || config.buffer_bytes % page_bytes != 0 ||
      config.buffer_bytes > buffer_bytes_max) {
    return Error{EINVAL, fmt::format("staging: buffers of {} bytes: give a multiple of {} up to {}",
                                     config.buffer_bytes, page_bytes, buffer_bytes_max)};
  }
  if (files == nullptr || files->capabilities().outstanding_max < config.buffers) {
    return Error{
        EINVAL,
        fmt::format("staging: its files engine takes {} transfers, there are {} buffers: "
                    "make it with as many",
                    files == nullptr ? 0 : files->capabilities().outstanding_max, config.buffers)};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> make_staging(DeviceMemory& memory, std::unique_ptr<Engine> files,
                                             const StagingConfig& config) {
  if (Status status = check_outstanding(config.outstanding); !status) return status.error();
  if (Status status = check(config, files.get()); !status) return status.error();
  Result<std::unique_ptr<CopyQueue>> queue = memory.make_queue(config.buffers, config.buffer_bytes);
  if (!queue) return queue.error();
  return std::unique_ptr<Engine>(
      std::make_unique<Staging>(config, std::move(queue).value(), std::move(files)));
}

}  // namespace k2k::io
