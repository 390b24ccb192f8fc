// System V objects, message queues and futexes.

#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include <ctime>

#include "cli/verify/case.hpp"

namespace k2k::cli::verify {

namespace {

constexpr std::uint16_t futex_wake_number = 454;  // Newer than the headers of Linux 6.1.
constexpr int absent_key = 0x5eed;
constexpr int absent_object = 0x7ffffff0;
constexpr sembuf one_less = {0, -1, IPC_NOWAIT};
constexpr timespec past_moment = {1, 0};

constexpr std::uint16_t futex_wait_number = 455;
constexpr std::uint16_t futex_requeue_number = 456;
constexpr std::uint64_t not_there = 0x12345678;  // Not in the mapping.
constexpr std::uint32_t word_of_process = 0x82;  // FUTEX2_SIZE_U32 | FUTEX2_PRIVATE

constexpr sembuf one_more = {1, 1, 0};
// Of msqid_ds, semid_ds and shmid_ds: key, sequence number, times and processes.
constexpr std::size_t owner_at = 4;
constexpr std::size_t mode_end = 24;
std::vector<Ignored> all_but_owner_and_mode(std::size_t argument, std::size_t bytes) {
  return {{argument, 0, owner_at}, {argument, mode_end, bytes - mode_end}};
}

mq_attr small_queue() {
  mq_attr limits{};
  limits.mq_maxmsg = 2;
  limits.mq_msgsize = 8;
  return limits;
}

Argument letter(long type, const std::string& content) {
  return bytes(joined({bytes_of(type), content}));
}

// futex_waitv.
std::string waiter() {
  return joined({bytes_of(not_there), std::string(8, '\0'), bytes_of(word_of_process),
                 bytes_of(std::uint32_t{0})});
}
Argument waiters(std::size_t count) {
  Argument all = bytes("");
  for (std::size_t index = 0; index < count; ++index) {
    all.parts.push_back({all.bytes.size() + 8, mapping(64 * index)});
    all.bytes += waiter();
  }
  return all;
}

}  // namespace

// Of limits, the answer is the highest index that has an object.
std::vector<Case> ipc_cases() {
  const IpcNames names = ipc_names();
  const Argument queue = ipc(Ipc::queue);
  const Argument semaphores = ipc(Ipc::semaphores);
  const Argument segment = ipc(Ipc::segment);
  constexpr int new_one = IPC_CREAT | IPC_EXCL | 0600;
  return {
      {SYS_msgget, "new", {number(names.new_key), number(new_one)}, Answer::varies},
      {SYS_semget, "new", {number(names.new_key), number(2), number(new_one)}, Answer::varies},
      {SYS_shmget, "new", {number(names.new_key), number(4096), number(new_one)}, Answer::varies},
      {SYS_msgsnd, "a letter", {queue, letter(7, "hello"), number(5), number(IPC_NOWAIT)}},
      {SYS_msgrcv, "a letter", {queue, space(24), number(16), number(0), number(IPC_NOWAIT)}},
      {SYS_msgrcv, "of its type", {queue, space(24), number(16), number(2), number(IPC_NOWAIT)}},
      {SYS_msgrcv,
       "of another type",
       {queue, space(24), number(16), number(3), number(IPC_NOWAIT)}},
      {SYS_msgrcv,
       "longer than the space",
       {queue, space(24), number(2), number(0), number(IPC_NOWAIT)}},
      {SYS_msgrcv,
       "cut to the space",
       {queue, space(24), number(2), number(0), number(IPC_NOWAIT | MSG_NOERROR)}},
      {SYS_msgctl,
       "of a queue",
       {queue, number(IPC_STAT), space(sizeof(msqid_ds))},
       Answer::exact,
       all_but_owner_and_mode(2, sizeof(msqid_ds))},
      {SYS_msgctl, "away", {queue, number(IPC_RMID), null()}},
      {SYS_semop, "one more", {semaphores, structure(one_more), number(1)}},
      {SYS_semop, "one less", {semaphores, structure(one_less), number(1)}},
      {SYS_semop,
       "one less than none",
       {semaphores, structure(sembuf{1, -1, IPC_NOWAIT}), number(1)}},
      {SYS_semtimedop,
       "one less than none",
       {semaphores, structure(sembuf{1, -1, 0}), number(1), structure(timespec{0, 1'000'000})},
       Answer::exact,
       {},
       false},
      {SYS_semtimedop,
       "both",
       {semaphores, bytes(joined({bytes_of(one_less), bytes_of(one_more)})), number(2), null()}},
      {SYS_semctl, "a value", {semaphores, number(0), number(GETVAL), number(0)}},
      {SYS_semctl, "another value", {semaphores, number(1), number(SETVAL), number(7)}},
      {SYS_semctl, "away", {semaphores, number(0), number(IPC_RMID), number(0)}},
      {SYS_shmat, "for reading", {segment, null(), number(SHM_RDONLY)}, Answer::address},
      {SYS_shmctl,
       "of a segment",
       {segment, number(IPC_STAT), space(sizeof(shmid_ds))},
       Answer::exact,
       all_but_owner_and_mode(2, sizeof(shmid_ds))},
      {SYS_shmctl, "away", {segment, number(IPC_RMID), null()}},
      {SYS_mq_open,
       "a queue",
       {text(names.queue), number(O_RDWR | O_NONBLOCK | O_CLOEXEC), number(0), null()},
       Answer::descriptor},
      {SYS_mq_open,
       "new",
       {text(names.new_queue), number(O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC), number(0600),
        structure(small_queue())},
       Answer::descriptor},
      {SYS_mq_unlink, "a queue", {text(names.queue)}},
      {SYS_mq_timedsend,
       "a message",
       {object(Object::posix_queue), bytes("hello"), number(5), number(1), structure(past_moment)}},
      {SYS_mq_timedsend,
       "too long",
       {object(Object::posix_queue), space(17), number(17), number(1), structure(past_moment)}},
      {SYS_mq_timedreceive,
       "a message",
       {object(Object::posix_queue), space(16), number(16), space(4), structure(past_moment)}},
      {SYS_mq_timedreceive,
       "into too little",
       {object(Object::posix_queue), space(8), number(8), space(4), structure(past_moment)}},
      {SYS_mq_notify, "nothing any more", {object(Object::posix_queue), null()}},
      {SYS_mq_getsetattr, "of a queue", {object(Object::posix_queue), null(), space(64)}},
      {SYS_mq_getsetattr,
       "of a queue that shall wait",
       {object(Object::posix_queue), structure(mq_attr{}), space(64)}},
      {SYS_shmget, "no segment", {number(absent_key), number(4096), number(0)}},
      {SYS_shmget, "of no size", {number(absent_key), number(0), number(IPC_CREAT)}},
      {SYS_shmat, "no segment", {number(absent_object), null(), number(0)}},
      {SYS_semget, "no set", {number(absent_key), number(1), number(0)}},
      {SYS_semget, "of less than none", {number(absent_key), number(-1), number(IPC_CREAT)}},
      {SYS_semop, "of no set", {number(absent_object), structure(one_less), number(1)}},
      {SYS_semop, "nothing", {number(absent_object), structure(one_less), number(0)}},
      {SYS_shmdt, "what is no segment", {mapping()}},
      {SYS_msgget, "no queue", {number(absent_key), number(0)}},
      {SYS_semtimedop,
       "of no set",
       {number(absent_object), structure(one_less), number(1), structure(past_moment)}},
      {SYS_mq_open, "no queue", {text("k2k-absent"), number(O_RDWR), number(0), null()}},
      {SYS_mq_open, "a name of two parts", {text("k2k/absent"), number(O_RDWR), number(0), null()}},
      {SYS_mq_unlink, "no queue", {text("k2k-absent")}},
      {SYS_mq_timedsend,
       "by a file",
       {object(Object::file), bytes("hello"), number(5), number(0), structure(past_moment)}},
      {SYS_mq_timedreceive,
       "by a file",
       {object(Object::file), space(16), number(16), space(4), structure(past_moment)}},
      {SYS_mq_notify, "by a file", {object(Object::file), null()}},
      {SYS_mq_getsetattr, "of a file", {object(Object::file), null(), space(64)}},
      {futex_wake_number, "nobody", {mapping(), number(1), number(1), number(0x82)}},
      {futex_wake_number, "a wrong flag", {mapping(), number(1), number(1), number(0x1000)}},
      {SYS_shmctl, "of no segment", {number(absent_object), number(IPC_STAT), space(112)}},
      {SYS_shmctl, "limits", {number(0), number(IPC_INFO), space(72)}, Answer::varies},
      {SYS_shmctl, "segments", {number(0), number(SHM_INFO), space(48)}, Answer::varies},
      {SYS_shmctl, "no command", {number(absent_object), number(99), number(0)}},
      {SYS_semctl, "of no set", {number(absent_object), number(0), number(IPC_STAT), space(104)}},
      {SYS_semctl,
       "all of no set",
       {number(absent_object), number(0), number(GETALL), space(8), number(4)}},
      {SYS_semctl, "limits", {number(0), number(0), number(IPC_INFO), space(40)}, Answer::varies},
      {SYS_semctl,
       "a value of no set",
       {number(absent_object), number(0), number(SETVAL), number(7)}},
      {SYS_msgsnd,
       "to no queue",
       {number(absent_object), letter(1, "hello"), number(5), number(IPC_NOWAIT)}},
      {SYS_msgsnd,
       "of no type",
       {number(absent_object), letter(0, "hello"), number(5), number(IPC_NOWAIT)}},
      {SYS_msgrcv,
       "of no queue",
       {number(absent_object), space(24), number(16), number(0), number(IPC_NOWAIT)}},
      {SYS_msgrcv,
       "of less than nothing",
       {number(absent_object), space(24), number(-1), number(0), number(IPC_NOWAIT)}},
      {SYS_msgctl, "of no queue", {number(absent_object), number(IPC_STAT), space(120)}},
      {SYS_msgctl, "limits", {number(0), number(IPC_INFO), space(32)}, Answer::varies},
      {SYS_futex,
       "nobody to wake",
       {mapping(), number(FUTEX_WAKE_PRIVATE), number(1), number(0), null(), number(0)}},
      {SYS_futex,
       "another value",
       {mapping(), number(FUTEX_WAIT_PRIVATE), number(not_there), structure(timespec{1, 0}), null(),
        number(0)}},
      {SYS_futex,
       "no moment",
       {mapping(), number(FUTEX_WAIT), number(not_there), structure(timespec{0, -1}), null(),
        number(0)}},
      {SYS_futex,
       "not at a word",
       {mapping(1), number(FUTEX_WAKE_PRIVATE), number(1), number(0), null(), number(0)}},
      {SYS_futex, "no operation", {mapping(), number(77), number(1), number(0), null(), number(0)}},
      {SYS_futex_waitv,
       "another value",
       {waiters(2), number(2), number(0), null(), number(CLOCK_MONOTONIC)}},
      {SYS_futex_waitv,
       "of nothing",
       {waiters(1), number(0), number(0), null(), number(CLOCK_MONOTONIC)}},
      {SYS_futex_waitv,
       "of too many",
       {waiters(1), number(129), number(0), null(), number(CLOCK_MONOTONIC)}},
      {futex_wait_number,
       "another value",
       {mapping(), number(not_there), number(1), number(word_of_process), null(),
        number(CLOCK_MONOTONIC)}},
      {futex_wait_number,
       "no clock",
       {mapping(), number(not_there), number(1), number(word_of_process), structure(timespec{1, 0}),
        number(99)}},
      {futex_requeue_number, "another value", {waiters(2), number(0), number(0), number(0)}},
      {futex_requeue_number, "a wrong flag", {waiters(2), number(1), number(0), number(0)}},
  };
}

}  // namespace k2k::cli::verify
