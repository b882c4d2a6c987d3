// control.h: how tests steer the fake driver.
//
// The environment variable TROUPE_FAKE_CUDA is read by cuInit. It is items
// separated by semicolons; troupe_fake_set takes the same text at any time.
//
//   version=12040        the version that cuDriverGetVersion gives
//   devices=1            their number, 0 to 8
//   arch=9.0             compute capability; 8.x computes as Ampere's tensor cores do
//   memory=256MiB        of each device (KiB, MiB, GiB, or bytes)
//   taken=100MiB         memory that others use
//   multiprocessors=16
//   seed=1               of the order of blocks, warps, lanes, streams
//   workers=2            OS threads for the blocks of a launch; 1: their order
//                        follows from the seed; 0: one for each processor
//   copies=late          asynchronous copies in kernels complete as late as allowed;
//                        early: at once; mixed: by launch. If not set, seeds with
//                        seed % 4 == 3 are early.
//   work=late            work of streams is done when somebody waits or asks for it;
//                        eager: by a thread in the background, in random order
//   report=FILE          a line with all counts is appended whenever the last
//                        context is released
//
//   CALL:N=CODE          the Nth call of a driver's function returns CODE:
//                        cuMemAlloc_v2:3=2. N+ is each from the Nth on, * is each.
//                        Names count with or without _v2.
//   run:KERNEL:N=CODE    the Nth run of a kernel (* is any) fails on the device; a
//                        later call tells. run:copy and run:fill are other work.
//   hang=CALL            calls of a function never return; hang=CALL:N the Nth
//   hang=run:KERNEL:N    the Nth run of a kernel never ends
//   lost=N               the Nth run of a kernel loses the device: all calls return
//                        999 from then on, also after a new start of the context
//   found                lost devices can be used again, with new contexts
//   off                  forgets all faults
//
// Codes that end a context (700, 719 and so on) are sticky: every later call of
// the device returns them until its primary context is released. Kernels that the
// emulation rejects (divergent barriers, overruns) fail with 719 and tell why on
// standard error and in cuGetErrorString.
#pragma once

#include <stdint.h>

#pragma GCC visibility push(default)
extern "C" {

// Resources that exist, in this order; then leaks (resources that still existed
// when their context ended), calls of the driver, runs of kernels, bytes of device
// memory. It returns how many there are; at most n are written.
int troupe_fake_counts(uint64_t *out, int n);
// Names of them, separated by spaces.
const char *troupe_fake_count_names(void);

// troupe_fake_set takes text as above; it returns null, or an error's text.
const char *troupe_fake_set(const char *text);

// troupe_fake_fail makes the nth call from now return code; nth 0: each.
void troupe_fake_fail(const char *call, uint64_t nth, int code);

// troupe_fake_error is the text of the last failed kernel, or "".
const char *troupe_fake_error(void);

// troupe_fake_check looks at all red zones now; it returns null, or what is broken.
const char *troupe_fake_check(void);
}
#pragma GCC visibility pop
