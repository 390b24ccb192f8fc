#include "emulator/cuda/driver/state.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/cuda/exec/check/held_stores.hpp"

namespace k2k::emulator::driver {

namespace {

constexpr std::uint64_t memory_mb_default = 4096;
constexpr std::uint64_t units_default = 4;
constexpr std::uint64_t units_max = 64;
constexpr std::uint64_t page = 4096;
constexpr int exit_findings = 66;  // As ThreadSanitizer's.

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end == '\0') return value;
  std::fprintf(stderr, "k2k-emulator: %s=%s is no number; %llu is used\n", name, text,
               static_cast<unsigned long long>(otherwise));
  return otherwise;
}

std::uint64_t mapped_bytes(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

bool is_on(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

std::atomic<bool> in_child{false};
std::atomic<std::uint32_t> streams_made{0};

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + (count == 1 ? one : many);
}

// At the end of a process under EMULATED_CUDA_RACES or EMULATED_CUDA_UNINITIALISED.
void end_with_findings() {
  if (in_child.load()) return;
  Driver& driver = Driver::get();
  const std::uint64_t races = driver.races == nullptr ? 0 : driver.races->count();
  const std::uint64_t reads = driver.uninitialised == nullptr ? 0 : driver.uninitialised->count();
  if (races + reads == 0) return;
  driver.log(counted(races, " race between lanes, ", " races between lanes, ") +
             counted(reads, " uninitialised read; ", " uninitialised reads; ") +
             "the exit status is " + std::to_string(exit_findings));
  std::fflush(nullptr);
  std::_Exit(exit_findings);
}

}  // namespace

void Moment::reach() {
  const std::lock_guard lock(mutex_);
  reached_ = true;
  at_ns_ = exec::now_ns();
  changed_.notify_all();
}
void Moment::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_; });
}
bool Moment::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}
std::uint64_t Moment::at_ns() const {
  const std::lock_guard lock(mutex_);
  return at_ns_;
}

Stream::Stream(Context& of, unsigned with_flags, int with_priority)
    : context(of),
      flags(with_flags),
      priority(with_priority),
      number(streams_made.fetch_add(1) + 1),
      last_(std::make_shared<Moment>()) {
  last_->reach();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<Moment> Stream::add(std::function<void()> work, exec::check::TaskOrder order) {
  const std::lock_guard lock(mutex_);
  last_ = std::make_shared<Moment>();
  last_->order = std::move(order);
  tasks_.push_back({std::move(work), last_});
  changed_.notify_all();
  return last_;
}

std::shared_ptr<Moment> Stream::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Stream::run() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task.work();
    task.done->reach();
  }
}

Driver& Driver::get() {
  static Driver* const driver = new Driver;  // Never destroyed: see the head.
  return *driver;
}

Driver::Driver() {
  memory_bytes = number_in_environment("EMULATED_CUDA_MEMORY_MB", memory_mb_default) * 1024 * 1024;
  launch_limit_ms = number_in_environment("EMULATED_CUDA_LAUNCH_LIMIT_MS", 0);
  reaches_host_pages = is_on("EMULATED_CUDA_PAGEABLE");
  if (const char* const path = std::getenv("EMULATED_CUDA_LOG")) log_path_ = path;
  pthread_atfork(nullptr, nullptr, [] { in_child.store(true); });
}

CUresult Driver::usable() const {
  return started_.load() && !in_child.load() ? success : not_initialized;
}

CUresult Driver::initialise() {
  if (in_child.load()) return not_initialized;
  const std::lock_guard lock(mutex_);
  if (started_.load()) return success;
  exec::Schedule schedule;
  if (const char* const seed = std::getenv("EMULATED_CUDA_SEED");
      seed != nullptr && *seed != '\0') {
    schedule.adversarial = true;
    schedule.seed = number_in_environment("EMULATED_CUDA_SEED", 1);
  }
  const std::uint64_t units = std::clamp<std::uint64_t>(
      number_in_environment("EMULATED_CUDA_UNITS", units_default), 1, units_max);
  turn_checks_on();
  device = new exec::Device(static_cast<std::uint32_t>(units), schedule);
  started_.store(true);
  return success;
}

void Driver::turn_checks_on() {
  const auto say = [this](const std::string& text) { log(text); };
  if (is_on("EMULATED_CUDA_RACES")) {
    races = std::make_unique<exec::check::Races>(say);
    memory.on_remove([this](exec::Range gone) { races->forget(gone.begin, gone.end); });
  }
  if (is_on("EMULATED_CUDA_UNINITIALISED")) {
    uninitialised = std::make_unique<exec::check::UninitialisedReads>(say);
  }
  if (races != nullptr || uninitialised != nullptr) std::atexit(&end_with_findings);
  hold_seed = number_in_environment("EMULATED_CUDA_HOLD_STORES", 0);
  if (hold_seed != 0 && races != nullptr) {
    log("EMULATED_CUDA_HOLD_STORES does nothing beside EMULATED_CUDA_RACES, which finds a missing "
        "release without it; set one of the two");
  }
}

void Driver::host_knows(const exec::check::TaskOrder& order) {
  if (races == nullptr) return;
  host_order.join(order);
  races->host_knows(order);
}

std::shared_ptr<exec::GridWatch> Driver::watch(const exec::Grid& grid,
                                               const exec::check::PlacedTask& place) {
  std::shared_ptr<exec::GridWatch> made;
  if (races != nullptr) {
    made = races->begin(grid, place);
  } else if (hold_seed != 0) {
    made = exec::check::hold_stores(hold_seed);
  }
  return uninitialised == nullptr ? made : uninitialised->begin(made);
}

CUresult Driver::retain_primary(Context** context) {
  const std::lock_guard lock(mutex_);
  if (primary_ == nullptr) {
    auto made = std::make_unique<Context>();
    made->primary = true;
    made->alive = false;
    primary_ = made.get();
    contexts_.emplace(primary_, std::move(made));
  }
  if (!primary_->alive) {
    primary_->fault = success;
    primary_->number = ++contexts_made_;
    primary_->legacy = std::make_unique<Stream>(*primary_, 0, 0);
    primary_->alive = true;
  }
  ++primary_users_;
  *context = primary_;
  return success;
}

CUresult Driver::release_primary(bool at_once) {
  Context* ends = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (primary_ == nullptr || !primary_->alive) return at_once ? success : invalid_context;
    if (at_once) {
      ends = primary_;  // Its users keep their counts, as with the real driver.
    } else if (--primary_users_ == 0) {
      ends = primary_;
    }
    if (ends != nullptr) ends->alive = false;
  }
  if (ends != nullptr) empty(*ends);
  return success;
}

Context* Driver::primary() {
  const std::lock_guard lock(mutex_);
  return primary_ != nullptr && primary_->alive ? primary_ : nullptr;
}

CUresult Driver::make_context(unsigned flags, Context** context) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<Context>();
  made->flags = flags;
  made->number = ++contexts_made_;
  made->legacy = std::make_unique<Stream>(*made, 0, 0);
  *context = made.get();
  contexts_.emplace(made.get(), std::move(made));
  return success;
}

CUresult Driver::end_context(Context* context) {
  {
    const std::lock_guard lock(mutex_);
    if (contexts_.find(context) == contexts_.end() || !context->alive) return invalid_context;
    if (context->primary) return invalid_context;
    context->alive = false;
  }
  empty(*context);
  return success;
}

// The object stays, so that a thread that is in a call with it finds a context that is not alive.
void Driver::empty(Context& context) {
  decltype(context.streams) streams;
  decltype(context.modules) modules;
  std::unique_ptr<Stream> legacy;
  {
    const std::lock_guard lock(context.mutex);
    for (const auto& grid : context.grids) {
      grid->fail(exec::Fault::timeout, "its context was destroyed");
    }
    context.fault = context_is_destroyed;
    streams.swap(context.streams);
    modules.swap(context.modules);
    legacy.swap(context.legacy);
  }
  streams.clear();
  legacy.reset();
  modules.clear();
  const std::lock_guard lock(memory_mutex_);
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    if (at->second.context != &context) {
      ++at;
      continue;
    }
    give_back(at->second);
    at = allocations_.erase(at);
  }
}

bool Driver::knows(const Context* context) {
  const std::lock_guard lock(mutex_);
  const auto found = contexts_.find(context);
  return found != contexts_.end() && found->second->alive;
}

std::vector<Context*>& current_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

CUresult Driver::current(Context** context) {
  if (const CUresult answer = usable(); answer != success) return answer;
  const std::vector<Context*>& stack = current_stack();
  if (stack.empty() || stack.back() == nullptr) return invalid_context;
  if (!knows(stack.back())) return context_is_destroyed;
  *context = stack.back();
  return (*context)->fault.load();
}

CUresult Driver::allocate(Context* context, std::uint64_t bytes, Allocation::Kind kind,
                          std::uint64_t* address) {
  if (bytes == 0 || address == nullptr) return invalid_value;
  const std::lock_guard lock(memory_mutex_);
  if (bytes > memory_bytes || allocated_ > memory_bytes - bytes) return out_of_memory;
  void* const mapped = ::mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return out_of_memory;
  const auto begin = reinterpret_cast<std::uint64_t>(mapped);
  allocated_ += bytes;
  allocations_[begin] = {begin, bytes, kind, context, ++allocations_made_};
  memory.add({begin, begin + bytes});
  *address = begin;
  return success;
}

CUresult Driver::add_registered(Context* context, std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0 || address == 0) return invalid_value;
  const std::lock_guard lock(memory_mutex_);
  const auto after = allocations_.lower_bound(address);
  if (after != allocations_.end() && after->first < address + bytes) {
    return memory_already_registered;
  }
  if (after != allocations_.begin()) {
    const Allocation& before = std::prev(after)->second;
    if (before.begin + before.bytes > address) return memory_already_registered;
  }
  allocations_[address] = {address, bytes, Allocation::Kind::registered, context,
                           ++allocations_made_};
  memory.add({address, address + bytes});
  return success;
}

CUresult Driver::release(std::uint64_t address, Allocation::Kind kind) {
  drain();  // As the real driver: memory is not freed under a kernel.
  const std::lock_guard lock(memory_mutex_);
  const auto found = allocations_.find(address);
  const bool registered = kind == Allocation::Kind::registered;
  if (found == allocations_.end()) return registered ? memory_not_registered : invalid_value;
  const Allocation& held = found->second;
  const bool managed = kind == Allocation::Kind::device && held.kind == Allocation::Kind::managed;
  if (held.kind != kind && !managed) return registered ? memory_not_registered : invalid_value;
  give_back(held);
  allocations_.erase(found);
  return success;
}

void Driver::give_back(const Allocation& held) {
  memory.remove(held.begin);
  if (held.kind == Allocation::Kind::registered) return;
  freed_.add(held.begin, mapped_bytes(held.bytes));
  allocated_ -= held.bytes;
}

Allocation Driver::holding(std::uint64_t address) {
  const std::lock_guard lock(memory_mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return {};
  --after;
  const Allocation& held = after->second;
  return address < held.begin + held.bytes ? held : Allocation{};
}

std::uint64_t Driver::bytes_free() {
  const std::lock_guard lock(memory_mutex_);
  return memory_bytes - allocated_;
}

void Driver::drain() {
  std::vector<std::shared_ptr<exec::Grid>> grids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, context] : contexts_) {
      const std::lock_guard of_context(context->mutex);
      grids.insert(grids.end(), context->grids.begin(), context->grids.end());
    }
  }
  for (const std::shared_ptr<exec::Grid>& grid : grids) device->wait(grid);
}

void Driver::log(const std::string& sentence) {
  const std::lock_guard lock(log_mutex_);
  const std::string line = "k2k-emulator: " + sentence + "\n";
  if (!log_path_.empty()) {
    if (std::FILE* const file = std::fopen(log_path_.c_str(), "a")) {
      std::fputs(line.c_str(), file);
      std::fclose(file);
      return;
    }
  }
  std::fputs(line.c_str(), stderr);
}

void Driver::count_unsupported(const char* name) {
  unsupported_.fetch_add(1);
  bool first = false;
  {
    const std::lock_guard lock(log_mutex_);
    first = unsupported_names_.insert(name).second;
  }
  if (first) log(std::string(name) + " is not supported");
}

CUresult stream_of(Context& context, CUstream handle, Stream** stream) {
  const std::lock_guard lock(context.mutex);
  if (!context.alive) return context_is_destroyed;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    *stream = context.legacy.get();
    return success;
  }
  const auto found = context.streams.find(object_of<Stream>(handle));
  if (found == context.streams.end()) return invalid_handle;
  *stream = found->first;
  return success;
}

std::shared_ptr<Moment> add_in_order(Stream& stream, PlacedWork work,
                                     const std::shared_ptr<Moment>& behind) {
  constexpr unsigned non_blocking = 1;
  Context& context = stream.context;
  std::vector<std::shared_ptr<Moment>> before;
  const std::lock_guard lock(context.mutex);
  if (&stream == context.legacy.get()) {
    for (const auto& [handle, other] : context.streams) {
      if ((other->flags & non_blocking) == 0) before.push_back(other->last());
    }
  } else if ((stream.flags & non_blocking) == 0 && context.legacy != nullptr) {
    before.push_back(context.legacy->last());
  }
  exec::check::PlacedTask place;
  exec::check::TaskOrder order;
  Driver& driver = Driver::get();
  if (driver.races != nullptr) {
    place.task = {stream.number, ++stream.tasks};
    place.before = driver.host_order.get();
    place.before.join(stream.last()->order);
    for (const std::shared_ptr<Moment>& moment : before) place.before.join(moment->order);
    if (behind != nullptr) place.before.join(behind->order);
    order = place.before;
    order.add(place.task);
  }
  return stream.add(
      [before = std::move(before), work = std::move(work), place = std::move(place)] {
        for (const std::shared_ptr<Moment>& moment : before) moment->wait();
        work(place);
      },
      std::move(order));
}

CUresult finish(Context& context, const std::shared_ptr<Moment>& moment) {
  moment->wait();
  Driver::get().host_knows(moment->order);
  return context.fault.load();
}

}  // namespace k2k::emulator::driver
