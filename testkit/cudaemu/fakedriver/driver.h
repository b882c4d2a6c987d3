// driver.h: the state of the fake driver. See docs in control.h for how tests
// steer it.
//
// One mutex guards everything; it is released while a kernel or a copy runs.
// Work of a stream is a queue. Nothing takes from it until somebody waits
// (stream.cc), so that work is done as late as the host allows.
#pragma once

#include "kernel.h"
#include "thread.h"

// The project's own header, in C++: what it declares is what we export.
#define _Alignas alignas
#pragma GCC visibility push(default)
extern "C" {
#include "cuda.h"
}
#pragma GCC visibility pop
#undef _Alignas

#include <stddef.h>
#include <stdint.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace fake {

struct Stream;
struct Context;
struct Capture;

// Mark is a place in a stream's work that an event or another stream waits for.
struct Mark {
  Stream *stream;            // whose work leads to it
  Context *context;
  bool done = false;
  bool captured = false;     // it belongs to a capture: only captured work may wait for it
  double time = 0;           // seconds, when it was reached
  std::weak_ptr<Capture> capture;
  std::vector<size_t> nodes; // captured: the nodes that it stands for
};
using MarkRef = std::shared_ptr<Mark>;

// Op is one piece of work. It is not changed after it was made.
struct Op {
  enum Type { nothing, kernel, copy, fill, host } type = nothing;
  // kernel
  const emu::Kernel *entry = nullptr;
  emu::Dim grid{}, block{};
  size_t shared = 0;
  bool early = false; // a kernel that may begin before the one ahead of it has ended
  std::vector<uint64_t> arguments; // boxes of 8 bytes, one or more for a parameter
  // copy and fill; addresses are those of the host
  uint64_t to = 0, from = 0;
  size_t bytes = 0;
  std::vector<unsigned char> staged; // copy: of memory that is not pinned
  bool to_host = false, from_host = false;
  bool pinned = false;               // the host's side is
  uint32_t value = 0;                // fill
  int width = 1;                     // of value
  // host
  CUhostFn function = nullptr;
  void *argument = nullptr;
};
using OpRef = std::shared_ptr<const Op>;

// Entry is an op in a stream's queue.
struct Entry {
  OpRef op;      // null: nothing
  MarkRef waits; // not before this is done
  MarkRef marks; // done after it
};

// Graph is nodes in an order that respects their edges.
struct Graph {
  struct Node {
    OpRef op;
    std::vector<size_t> after;
  };
  std::vector<Node> nodes;
};

// Exec is a graph that can be launched; its launches follow each other.
struct Exec {
  Graph graph;
  MarkRef last;
};

struct Capture {
  std::shared_ptr<Graph> graph;
  int mode;
  Stream *origin;
  uint64_t thread;
  bool broken = false;       // by a call that is not allowed
  std::set<Stream *> streams;
};

enum Kind { contexts, modules, memories, pinned, streams, events, graphs, execs, kinds };
extern const char *const kind_names[kinds];

struct Device;

struct Context {
  Device *device;
  int retained = 0;      // of a primary context
  bool alive = false;
};

struct Device {
  int number;
  Context primary;
  uint64_t used = 0;     // bytes of memories
  int sticky = 0;        // the error that ended the context
};

struct Block { // of device or pinned memory
  Context *context;
  unsigned char *base, *start;
  size_t bytes;
};

struct Stream {
  Stream(Context *c, bool b) : context(c), blocking(b) {}

  Context *context;
  bool blocking;            // waits for the default stream, and that one for it
  int priority = 0;
  unsigned flags = 0;
  std::deque<Entry> queue;
  bool busy = false;        // its first entry is being done
  bool hung = false;        // and never ends
  bool closed = false;      // destroyed, with work left
  MarkRef doing;            // what is marked when it ends
  std::shared_ptr<Capture> capture;
  std::vector<size_t> last; // captured: the nodes that the next one comes after
};

struct Event {
  Context *context;
  unsigned flags;
  MarkRef mark;  // null: never recorded
};

struct Image {              // what a module's file says
  bool any = false;         // no file: all kernels of the emulation
  struct Kernel {
    std::string name;
    std::vector<int> sizes; // of parameters
    bool sizes_known = false;
    int max_threads = 0, registers = 0, shared = 0, local = 0;
  };
  std::vector<Kernel> kernels;
  int architecture = 0;
};
// read_image parses a cubin, PTX or fatbin for a device. It returns a CUresult.
CUresult read_image(const void *image, int architecture, int driver_version, Image &out, std::string &why);

// plain_shared is how much shared memory a block may have without asking for it.
constexpr int plain_shared = 48 << 10;

struct Function {
  const emu::Kernel *kernel;
  Image::Kernel image;
  int architecture;
  int dynamic_limit; // plain_shared less the static one, until it is raised
  Context *context;
};

struct Module {
  Context *context;
  Image image;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

// Settings are what TROUPE_FAKE_CUDA says.
struct Fault {
  std::string call;   // a driver's function, "run" for work on the device
  std::string kernel; // of run: "" is any
  uint64_t from, to;  // which calls, counted from 1
  int code;           // -1: never returns
  uint64_t seen = 0;
};

struct Settings {
  int version = 12040, devices = 1, architecture = 90;
  uint64_t memory = 256 << 20, taken = 0; // taken: by others
  int workers = 0;
  uint64_t seed = 1;
  enum Copies { late, early, mixed } copies = late;
  bool copies_set = false;
  bool eager = false;     // a thread does the work in the background
  int multiprocessors = 16;
  std::string report;     // file that gets the counts when the last context goes
  std::vector<Fault> faults;
};

// parse_settings adds what the text says; it returns an error's text, or "".
std::string parse_settings(const char *text, Settings &s);

struct Driver {
  std::mutex lock;
  std::condition_variable changed;
  Settings settings;
  bool initialised = false;
  Device device[8];
  std::map<void *, std::unique_ptr<Stream>> streams;
  std::map<void *, std::unique_ptr<Event>> events;
  std::map<void *, std::unique_ptr<Module>> modules;
  std::map<void *, std::shared_ptr<Graph>> graphs;
  std::map<void *, std::shared_ptr<Exec>> execs;
  std::set<const void *> functions;
  std::map<void *, Context *> contexts;       // that are alive
  std::map<uint64_t, Block> memory;           // by start
  std::map<uint64_t, Block> pinned;
  std::map<Context *, Stream *> defaults;     // default streams
  uint64_t counts[kinds] = {}, leaks = 0, calls = 0, kernels = 0;
  std::string last_error;
  std::mt19937_64 random{1};
  uint64_t launches = 0;
  bool worker = false;  // the background thread was started
};
Driver &driver();

using Lock = std::unique_lock<std::mutex>;

// The context of the calling thread.
extern thread_local Context *current;

// Call is a driver call in progress: it holds the lock, and knows the faults.
// code is what the call must return at once, or CUDA_SUCCESS.
struct Call {
  enum Needs { nothing, initialised, context, anything_alive };
  Lock hold;
  int code;
  Call(const char *name, Needs needs);
};
#define CALL(name, needs)            \
  ::fake::Call call(name, needs);    \
  if (call.code) return (CUresult)call.code

// fault returns the code demanded for this call, 0 for none. It may block for ever.
int fault(Lock &hold, const char *call, const char *kernel);

// lose makes an error sticky.
void lose(Device &d, int code, const std::string &text);
void find_devices(); // lost ones work again, in new contexts
bool is_sticky(int code);

// streams (stream.cc)
Stream *stream_of(CUstream s); // null: invalid
Stream *default_stream(Context *c);
CUresult add(Stream *s, OpRef op); // queues or captures it
MarkRef mark_end(Stream *s);       // of its queue
void settle(Lock &hold, Context *c);  // waits for all work of a context
void settle(Lock &hold, const MarkRef &m);
void drop_work(Context *c);           // after a sticky error
void wait_idle(Lock &hold, Context *c); // until nothing of it runs
double now();

// captures (graph.cc)
CUresult unsafe_while_capturing(); // for calls that a capture of this thread forbids
void capture_node(Stream *s, OpRef op);
CUresult capture_wait(Stream *s, const MarkRef &m);
void launch_graph(Stream *s, Exec &e);

// memory (memory.cc)
Block *find_block(std::map<uint64_t, Block> &blocks, uint64_t address, size_t bytes);
std::string broken_zone(Context *c, const std::vector<uint64_t> *uses);
void free_all(Context *c);

// count_all gives what exists by kind, then leaks, calls, runs of kernels, bytes of memory. The lock is held.
constexpr int totals = kinds + 4;
void count_all(uint64_t (&out)[totals]);
void report_counts();

} // namespace fake

#define API extern "C" CUresult
