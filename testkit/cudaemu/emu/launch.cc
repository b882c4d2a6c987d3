// launch.cc: the registry, and the OS threads that share the blocks of a launch.
#include "machine.h"
#include "race.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <string.h>
#include <thread>

namespace emu {

int architecture = 90;

namespace {

// Zero before any constructor runs.
const Kernel *list;
const Bound *bounds;

// Pool keeps helpers between launches. The caller of a launch works too, so a
// launch of one block wakes nobody, and helpers that are busy with another
// launch are not waited for.
class Pool {
public:
  void run(Job &job) {
    size_t helpers = race::on ? 0 : (size_t)std::max(workers() - 1, 0);
    helpers = std::min<size_t>(helpers, job.blocks - 1);
    Task task{&job, 0};
    if (helpers) {
      std::unique_lock<std::mutex> hold(lock_);
      while (threads_ < (int)helpers) {
        threads_++;
        std::thread([this] { serve(); }).detach();
      }
      for (size_t i = 0; i < helpers; i++) tasks_.push_back(&task);
      hold.unlock();
      if (helpers == 1) work_.notify_one(); else work_.notify_all();
    }
    own_machine().work(job);
    if (!helpers) return;
    std::unique_lock<std::mutex> hold(lock_);
    tasks_.erase(std::remove(tasks_.begin(), tasks_.end(), &task), tasks_.end());
    done_.wait(hold, [&] { return task.running == 0; });
  }

  void set(int n) { workers_ = n; }

private:
  struct Task {
    Job *job;
    int running;
  };

  int workers() {
    int n = workers_;
    return n ? n : (int)std::thread::hardware_concurrency();
  }

  static Machine &own_machine() {
    static thread_local std::unique_ptr<Machine> m;
    if (!m) m.reset(new Machine);
    return *m;
  }

  void serve() {
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      work_.wait(hold, [&] { return !tasks_.empty(); });
      Task *t = tasks_.back();
      tasks_.pop_back();
      t->running++;
      hold.unlock();
      own_machine().work(*t->job);
      hold.lock();
      if (--t->running == 0) done_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable work_, done_;
  std::vector<Task *> tasks_;
  int threads_ = 0;
  std::atomic<int> workers_{0};
};

Pool &pool() {
  static Pool *p = new Pool; // never destroyed: helpers use it until the process ends
  return *p;
}

} // namespace

void Kernel::add() const {
  next = list;
  list = this;
}

Bound::Bound(const char *n, unsigned t) : name(n), threads(t), next(bounds) { bounds = this; }

unsigned threads_of(const char *name) {
  for (const Bound *b = bounds; b; b = b->next)
    if (!strcmp(b->name, name)) return b->threads;
  return 0;
}

const Kernel *first() { return list; }

const Kernel *find(const char *name) {
  for (const Kernel *k = list; k; k = k->next)
    if (!strcmp(k->name, name)) return k;
  return nullptr;
}

void set_workers(int threads) { pool().set(threads); }

std::string run(const Launch &l) {
  uint64_t blocks = (uint64_t)l.grid.x * l.grid.y * l.grid.z, threads = (uint64_t)l.block.x * l.block.y * l.block.z;
  if (!blocks || !threads || threads > 1024) return "a launch needs at least one block, and 1 to 1024 threads in each";
  unsigned bound = threads_of(l.kernel->name);
  if (bound && threads != bound) return std::string("kernel ") + l.kernel->name + " is made for blocks of " + std::to_string(bound) + " threads, not of " + std::to_string(threads);
  if (l.dynamic_bytes > shared_limit) return "more dynamic shared memory than a block may have";
  Job job(l, blocks);
  // A seeded order of blocks: any step without a common factor reaches each once.
  uint64_t mixed = (l.seed + 1) * 0x9e3779b97f4a7c15u;
  job.start = mixed % blocks;
  for (job.step = 1 + (mixed >> 32) % blocks;; job.step++) {
    uint64_t a = job.step, b = blocks;
    while (b) {
      uint64_t r = a % b;
      a = b;
      b = r;
    }
    if (a == 1) break;
  }
  static std::mutex alone; // race.cc has one state
  std::unique_lock<std::mutex> hold(alone, std::defer_lock);
  if constexpr (race::on) {
    hold.lock();
    race::start_launch();
  }
  pool().run(job);
  return job.error;
}

} // namespace emu
