#include "backend/cpu/fibre/fibre_pool.hpp"

#include <new>

namespace k2k::backend::cpu {

namespace {
constexpr std::uint32_t slab_stacks = 64;
constexpr std::size_t stack_step = 64;  // A cache line.
}  // namespace

FibrePool::FibrePool(std::byte* range, std::uint32_t count, std::size_t stack_bytes, void (*base)())
    : range_(range),
      count_(count),
      stack_bytes_(stack_bytes),
      stride_(stride_for(stack_bytes)),
      base_(base),
      fibres_(count * sizeof(Fibre)) {}

FibrePool::~FibrePool() {
  for (std::uint32_t index = 0; index < created_; ++index) {
    forget_stack(fibres_.as<Fibre>()[index].sanitizer);
  }
}

bool FibrePool::commit_slab() {
  const std::uint32_t stacks =
      count_ - committed_ < slab_stacks ? count_ - committed_ : slab_stacks;
  if (stacks == 0) return false;
  // The spare comes along, but for its lowest page: it parts this unit from the memory below.
  std::byte* const begin =
      range_ + (committed_ == 0 ? page_bytes : (committed_ + std::size_t{1}) * stride_);
  std::byte* const end = range_ + (committed_ + 1 + stacks) * stride_;
  const auto bytes = static_cast<std::size_t>(end - begin);
  if (::mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  committed_ += stacks;
  return true;
}

Fibre* FibrePool::take() {
  if (free_ == nullptr) {
    if (fibres_.empty() || (created_ == committed_ && !commit_slab())) return nullptr;
    free_ = new (&fibres_.as<Fibre>()[created_]) Fibre;
    free_->top_offset = created_ % (page_bytes / stack_step) * stack_step;
    free_->stack = range_ + (created_ + std::size_t{1}) * stride_;
    if (guard_pages)
      ::mprotect(free_->stack, page_bytes, PROT_NONE);  // Best effort: a limit of maps.
    ++created_;
  }
  Fibre* const fibre = free_;
  free_ = fibre->next_free;
  if (fibre->fresh) {
    const std::size_t bytes = stack_bytes_ + page_bytes - fibre->top_offset;
    adopt_stack(fibre->sanitizer, fibre->stack, bytes);
    prepare_context(fibre->context, fibre->stack, bytes, base_);
    fibre->exceptions = {};
    fibre->fresh = false;
  }
  return fibre;
}

void FibrePool::give_back_abandoned(Fibre& fibre) {
  fibre.fresh = true;
  give_back(fibre);
}

void FibrePool::trim() {
  if (!worth_trimming()) return;
  Fibre* const fibres = fibres_.as<Fibre>();
  for (std::uint32_t index = kept_stacks; index < created_; ++index) {
    forget_stack(fibres[index].sanitizer);
  }
  // Made anew by take(), as if they had never been.
  madvise(range_ + (kept_stacks + std::size_t{1}) * stride_, (created_ - kept_stacks) * stride_,
          MADV_DONTNEED);
  created_ = kept_stacks;
  free_ = nullptr;
  for (std::uint32_t index = created_; index-- > 0;) give_back(fibres[index]);
}

}  // namespace k2k::backend::cpu
