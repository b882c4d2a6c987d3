// Package simd has the levels of instruction set of the kernels, and prefetch hints.
//
// Every kernel below gpu/cpu/kernel is plain Go at level Portable and generated
// assembly for amd64 at the others. Folder gen holds the source of the assembly;
// `make generate` writes it, and a test compares it. For each kernel of several levels
// it also writes a function NAMEAVX that calls the right one.
//
// A kernel takes the level to run at. The results of a level always have the same bits:
// they do not depend on the number of rows, tokens or queries of a call, on the order of
// calls, or on the contents of unused lanes. Levels differ from one another by rounding
// only. AMX is AVX512 with faster integer products of many tokens, with the same bits.
//
// Assembly gets pointers to first elements. The Go functions around it check
// lengths, once per call. Go cannot preempt assembly, so a call should take at
// most 20 microseconds: about one panel of weights.
package simd
