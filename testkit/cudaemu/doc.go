// Package cudaemu runs the CUDA kernels without a GPU.
//
// The kernels' sources (gpu/cuda/kernels) are compiled by g++ as C++ over an
// emulation of CUDA threads and instructions (folder emu: start with emu.h). The
// result is a libcuda.so.1 (folder fakedriver) that the CUDA build loads in place of
// NVIDIA's: device memory is host memory, a launch runs the emulated kernels.
//
//	library, err := cudaemu.Build("gpu/cuda/kernels", cudaemu.Options{})
//	err = driver.Open(driver.Options{Library: library})
//
// Program compiles tests of kernels in C++ instead, without a driver: they include
// emu.h and call emu::run({emu::find("name"), grid, block, dynamic shared bytes, args,
// seed, early}), which returns an error's text or "".
//
// # What is used against the kernels and the host's code
//
// Warps, and lanes in a warp, run ahead of each other in an order that follows from a
// seed. Asynchronous copies and products complete as late as allowed, or, by a quarter
// of the seeds, at once. Shared and device memory begin as NaN. Work of streams is done
// when somebody waits for it and no further, so that a missing wait shows; streams that
// no event orders run in any order. Divergent barriers, deadlocks, misuse of
// instructions and overruns fail the launch, with a text that names kernel, block and
// thread, in cuGetErrorString too.
//
// # Builds
//
// Address finds each access out of bounds, also those that only read. Races finds
// accesses that no barrier, fence or atomic orders, whatever the schedule is, and
// missing __threadfence between blocks. Both fail a launch or the program.
//
// # Faults
//
// The environment variable TROUPE_FAKE_CUDA sets limits and faults for whole programs,
// package control does so inside a test:
//
//	TROUPE_FAKE_CUDA="cuMemAlloc_v2:3=2;version=11080;memory=64MiB;arch=8.0;hang=run:sample:7"
//
// fakedriver/control.h has the whole form. Resources are counted, and what is left when
// a context ends is a leak.
//
// # What it does not show
//
// Speed, occupancy, conflicts of banks, register pressure. Clusters, multicast, stores
// by TMA, textures, managed memory and cooperative launches are not emulated, and blocks
// that wait for other blocks of the same launch may wait for ever. Tensor cores follow a
// published model (emu/dot.cc) that a GPU must confirm.
package cudaemu
