// Package cudaemu runs the CUDA kernels without a GPU.
//
// The kernels' sources (gpu/cuda/kernels) are compiled by g++ as C++ over an
// emulation of CUDA threads and instructions (folder emu: start with emu.h). The
// result is a libcuda.so.1 (folder fakedriver) that the CUDA build loads in place
// of NVIDIA's: device memory is host memory, a launch runs the emulated kernel.
//
// To compile a kernel by hand:
//
//	g++ -x c++ -std=c++17 -O2 -ffp-contract=off -mavx2 -mfma -mf16c -fPIC -pthread \
//	    -DTROUPE_EMULATION -I testkit/cudaemu/emu kernel.cu test.cc testkit/cudaemu/emu/*.cc
//
// where test.cc includes emu.h and calls emu::run({emu::find("name"), grid, block,
// dynamic shared bytes, args, seed, early}), which returns an error's text or "".
package cudaemu
