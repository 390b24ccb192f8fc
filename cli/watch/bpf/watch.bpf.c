// The programs of k2k watch in the kernel: sums of CPU time by its taker, and of waits by their
// cause. tracer.cpp loads and reads them.
//
// Each moment of a core belongs to one taker. Takers nest: an interrupt may interrupt a softirq,
// which may interrupt a thread. A taker's time is its span without the spans within it:
//
//   thread  ────┐           ┌──────────────┐              ┌───
//   softirq     │           └──┐        ┌──┘              │
//   interrupt   └──interrupt───┘ softirq └───interrupt────┘
//
// Each core has the total of its interrupts and softirqs, so that an outer span subtracts what
// passed meanwhile.
//
// Waits: a program's thread waits from its wake-up, or from the moment at which it lost its core,
// until it runs. If the thread that left the core then was a kernel thread, the wait since that
// thread's start is the kernel thread's doing. Waits behind a chain of several threads count the
// last one only, so the sums are lower bounds.
//
// The most frequent programs read fields of threads directly (tp_btf); those of interrupts, which
// not every kernel has, are attached by name (raw_tp), so that a missing one is no error of
// loading.
//
// Only fields of the kernel's types that are used are declared; libbpf finds their places in the
// running kernel (CO-RE). Names of these types are the kernel's own.

// clang-format off: libbpf's headers need the types of Linux' before them.
#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NAME_BYTES 16
#define FUNCTION_BYTES 64
#define SUMS_MAX 16384
#define THREADS_MAX 65536
#define OF_KERNEL 0x00200000u  // PF_KTHREAD

enum taker { INTERRUPT, SOFTIRQ, VECTOR, WORK, THREAD, PROGRAM, IDLE };  // As in traced.hpp.
enum vector { LOCAL_TIMER, RESCHEDULE, CALL_SINGLE, CALL, IRQ_WORK, VECTORS };
#define SOFTIRQS 16  // A power of two, so that a mask keeps an index within; Linux has 10.

struct task_struct {
  unsigned int __state;
  unsigned int flags;
  int pid;
  int tgid;
  char comm[NAME_BYTES];
} __attribute__((preserve_access_index));

// Before Linux 5.14.
struct task_struct___old {
  long state;
} __attribute__((preserve_access_index));

struct work_struct;

struct sum_key {
  __u32 taker;
  __u32 zero;
  __u64 id;
};
struct sum {
  __u64 ns;
  __u64 count;
};
struct harm_key {
  __u32 cause;   // A kernel thread; 0: interrupts and softirqs.
  __u32 victim;  // A process.
};
struct harm {
  __u64 ns;
  __u64 times;
  char cause[NAME_BYTES];
  char victim[NAME_BYTES];
};
struct core {
  __u64 interrupts;  // Total of interrupts so far.
  __u64 softirqs;    // Total of softirqs so far.
  __u64 interrupt_began;
  __u64 softirq_began;
  __u64 interrupts_at_softirq;
  __u64 thread_began;
  __u64 above_at_thread;  // interrupts + softirqs when the thread got the core.
  __u64 program_ns;       // The most frequent sums are here: they need no search.
  __u64 idle_ns;
  struct sum vectors[VECTORS];
  struct sum softirq_sums[SOFTIRQS];
  __u64 lost;           // Sums that found no room.
  __u32 running_taker;  // THREAD, PROGRAM or IDLE: of the thread that has the core.
  __u32 running;        // That kernel thread, else 0. The reader adds its time until then.
};
struct thread {
  __u64 waits_since;  // 0: it does not wait for a core.
  __u64 ran;          // CPU time so far.
  __u64 ran_at_work;  // The same when its work item began.
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, SUMS_MAX);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct sum_key);
  __type(value, struct sum);
} sums SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, SUMS_MAX);
  __type(key, struct harm_key);
  __type(value, struct harm);
} harms SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct core);
} cores SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, THREADS_MAX);
  __type(key, __u32);
  __type(value, struct thread);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, THREADS_MAX);
  __type(key, __u32);
  __type(value, char[NAME_BYTES]);
} names SEC(".maps");

// The names of work items' functions, by their addresses.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, SUMS_MAX);
  __type(key, __u64);
  __type(value, char[FUNCTION_BYTES]);
} functions SEC(".maps");

static __always_inline struct core* this_core(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&cores, &zero);
}

static __always_inline void add(struct core* core, __u32 taker, __u64 id, __u64 ns, __u64 count) {
  struct sum_key key = {taker, 0, id};
  struct sum* sum = bpf_map_lookup_elem(&sums, &key);
  if (sum) {
    sum->ns += ns;
    sum->count += count;
    return;
  }
  struct sum first = {ns, count};
  if (bpf_map_update_elem(&sums, &key, &first, BPF_ANY) != 0) core->lost++;
}

static __always_inline int begin_interrupt(void) {
  struct core* core = this_core();
  if (core) core->interrupt_began = bpf_ktime_get_ns();
  return 0;
}

// The time since the interrupt began; 0 if its begin was not seen.
static __always_inline __u64 end_interrupt(struct core* core) {
  if (!core->interrupt_began) return 0;
  __u64 ns = bpf_ktime_get_ns() - core->interrupt_began;
  core->interrupt_began = 0;
  core->interrupts += ns;
  return ns;
}

static __always_inline int end_vector(enum vector vector) {
  struct core* core = this_core();
  __u64 ns = core ? end_interrupt(core) : 0;
  if (!ns) return 0;
  core->vectors[vector].ns += ns;
  core->vectors[vector].count++;
  return 0;
}

SEC("raw_tp/irq_handler_entry")
int irq_begins(struct bpf_raw_tracepoint_args* args) { return begin_interrupt(); }
SEC("raw_tp/irq_handler_exit")
int irq_ends(struct bpf_raw_tracepoint_args* args) {
  struct core* core = this_core();
  __u64 ns = core ? end_interrupt(core) : 0;
  if (ns) add(core, INTERRUPT, (__u32)args->args[0], ns, 1);
  return 0;
}

#define VECTOR_PROGRAMS(name, number)                                                   \
  SEC("raw_tp/" #name "_entry")                                                         \
  int name##_begins(struct bpf_raw_tracepoint_args* args) { return begin_interrupt(); } \
  SEC("raw_tp/" #name "_exit")                                                          \
  int name##_ends(struct bpf_raw_tracepoint_args* args) { return end_vector(number); }

VECTOR_PROGRAMS(local_timer, LOCAL_TIMER)
VECTOR_PROGRAMS(reschedule, RESCHEDULE)
VECTOR_PROGRAMS(call_function_single, CALL_SINGLE)
VECTOR_PROGRAMS(call_function, CALL)
VECTOR_PROGRAMS(irq_work, IRQ_WORK)

SEC("raw_tp/softirq_entry")
int softirq_begins(struct bpf_raw_tracepoint_args* args) {
  struct core* core = this_core();
  if (!core) return 0;
  core->softirq_began = bpf_ktime_get_ns();
  core->interrupts_at_softirq = core->interrupts;
  return 0;
}

SEC("raw_tp/softirq_exit")
int softirq_ends(struct bpf_raw_tracepoint_args* args) {
  struct core* core = this_core();
  if (!core || !core->softirq_began) return 0;
  __u64 ns = bpf_ktime_get_ns() - core->softirq_began;
  __u64 within = core->interrupts - core->interrupts_at_softirq;
  ns = ns > within ? ns - within : 0;
  core->softirq_began = 0;
  core->softirqs += ns;
  __u64 softirq = args->args[0] & (SOFTIRQS - 1);
  core->softirq_sums[softirq].ns += ns;
  core->softirq_sums[softirq].count++;
  return 0;
}

static __always_inline struct thread* thread_of(__u32 pid) {
  struct thread* thread = bpf_map_lookup_elem(&threads, &pid);
  if (thread) return thread;
  struct thread first = {};
  bpf_map_update_elem(&threads, &pid, &first, BPF_NOEXIST);
  return bpf_map_lookup_elem(&threads, &pid);
}

// The time of the running thread since it got the core.
static __always_inline __u64 stint(const struct core* core, __u64 now) {
  __u64 ns = now - core->thread_began;
  __u64 above = core->interrupts + core->softirqs - core->above_at_thread;
  return ns > above ? ns - above : 0;
}

static __always_inline int runnable(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return task->__state == 0;
  return ((struct task_struct___old*)task)->state == 0;
}

static __always_inline void add_harm(__u32 cause, struct task_struct* of, struct task_struct* to,
                                     __u64 ns) {
  struct harm_key key = {cause, to->tgid};
  struct harm* harm = bpf_map_lookup_elem(&harms, &key);
  if (harm) {
    __sync_fetch_and_add(&harm->ns, ns);
    __sync_fetch_and_add(&harm->times, 1);
    return;
  }
  struct harm first = {ns, 1, {}, {}};
  if (of) bpf_probe_read_kernel_str(first.cause, NAME_BYTES, of->comm);
  bpf_probe_read_kernel_str(first.victim, NAME_BYTES, to->comm);
  bpf_map_update_elem(&harms, &key, &first, BPF_NOEXIST);
}

// The thread that leaves the core gets its time.
static __always_inline void leave(struct core* core, struct task_struct* task, __u64 now) {
  __u32 pid = task->pid;
  __u64 ran = stint(core, now);
  if (pid == 0) {
    core->idle_ns += ran;
    return;
  }
  if (task->flags & OF_KERNEL) {
    struct thread* thread = thread_of(pid);
    if (thread) thread->ran += ran;
    // The name first: the reader finds a name for each sum that it reads.
    if (!bpf_map_lookup_elem(&names, &pid)) {
      char name[NAME_BYTES] = {};
      bpf_probe_read_kernel_str(name, NAME_BYTES, task->comm);
      bpf_map_update_elem(&names, &pid, name, BPF_ANY);
    }
    add(core, THREAD, pid, ran, 1);
    return;
  }
  core->program_ns += ran;
  __u64 above = core->interrupts + core->softirqs - core->above_at_thread;
  if (above) add_harm(0, 0, task, above);
  if (!runnable(task)) return;
  struct thread* thread = thread_of(pid);
  if (thread) thread->waits_since = now;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches, bool preempt, struct task_struct* before, struct task_struct* after) {
  struct core* core = this_core();
  if (!core) return 0;
  __u64 now = bpf_ktime_get_ns();
  __u64 began = core->thread_began;
  if (began) leave(core, before, now);
  core->thread_began = now;
  core->above_at_thread = core->interrupts + core->softirqs;
  __u32 pid = after->pid;
  __u32 kernel = after->flags & OF_KERNEL;
  core->running_taker = pid == 0 ? IDLE : kernel ? THREAD : PROGRAM;
  core->running = core->running_taker == THREAD ? pid : 0;
  if (core->running_taker != PROGRAM) return 0;
  struct thread* thread = bpf_map_lookup_elem(&threads, &pid);
  if (!thread || !thread->waits_since) return 0;
  __u64 since = thread->waits_since;
  thread->waits_since = 0;
  __u32 cause = before->pid;
  if (!began || cause == 0 || !(before->flags & OF_KERNEL)) return 0;
  add_harm(cause, before, after, now - (since > began ? since : began));
  return 0;
}

static __always_inline int wakes(struct task_struct* task) {
  if (task->flags & OF_KERNEL) return 0;
  struct thread* thread = thread_of(task->pid);
  if (thread) thread->waits_since = bpf_ktime_get_ns();
  return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakes_up, struct task_struct* task) { return wakes(task); }
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakes_first, struct task_struct* task) { return wakes(task); }

SEC("raw_tp/workqueue_execute_start")
int work_begins(struct bpf_raw_tracepoint_args* args) {
  struct core* core = this_core();
  struct thread* thread = thread_of((__u32)bpf_get_current_pid_tgid());
  if (core && thread) thread->ran_at_work = thread->ran + stint(core, bpf_ktime_get_ns());
  return 0;
}

SEC("raw_tp/workqueue_execute_end")
int work_ends(struct bpf_raw_tracepoint_args* args) {
  struct core* core = this_core();
  struct thread* thread = thread_of((__u32)bpf_get_current_pid_tgid());
  if (!core || !thread || !core->thread_began || !thread->ran_at_work) return 0;
  __u64 ran = thread->ran + stint(core, bpf_ktime_get_ns());
  __u64 function = args->args[1];  // Since Linux 5.7.
  if (!bpf_map_lookup_elem(&functions, &function)) {
    char name[FUNCTION_BYTES] = {};
    BPF_SNPRINTF(name, FUNCTION_BYTES, "%ps", function);  // Linux 5.13 and later.
    bpf_map_update_elem(&functions, &function, name, BPF_ANY);
  }
  add(core, WORK, function, ran > thread->ran_at_work ? ran - thread->ran_at_work : 0, 1);
  thread->ran_at_work = 0;
  return 0;
}
