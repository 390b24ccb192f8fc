#pragma once
// References to the parts that a thread needs to take calls from the pool, to answer them, or to
// give them back.
//
// Threading: a value of references.

#include "backend/backend.hpp"
#include "router/door/files.hpp"
#include "server/account/answers.hpp"
#include "server/govern/admission.hpp"
#include "server/pool/request_queue.hpp"
#include "server/pool/service_threads.hpp"
#include "server/pool/thread_pool.hpp"
#include "server/waits/sleeping_calls.hpp"

namespace k2k::server {

struct SetAsideParts {
  backend::Backend& backend;
  router::Files& files;
  Answers& answers;
  Admission& admission;
  SleepingCalls& sleeping;
  ServiceThreads& threads;
  RequestPlaces& places;
  ThreadPool& pool;
};

}  // namespace k2k::server
