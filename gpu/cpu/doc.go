// Package cpu is the CPU device: plain Go on every platform, assembly on processors
// for which gpu/cpu/kernel has some, no cgo.
//
// Load compiles a gpu.Program into stages (compile.go). A stage is split into units, and
// a model's workers claim units until the stage is done: first those of their own range,
// then those of others (stealing.go). No worker is woken or joined between the stages of
// a step. A waiting worker prefetches the weights that it will read next (prefetch.go).
//
// # Parts
//
//	device, options, memory_*                the device, its settings, how much memory there is
//	load, weights, storage                   weights from the file into panels, in which type
//	arena, arena_*                           memory from the system
//	compile, rowwise, rope                   a program as stages; ops on single rows; angles
//	model, step, scratch, benchops           a step on the workers, their memory; single ops for benchmarks
//	workerpool, stealing, prefetch           workers, how they divide a stage, what they read ahead
//	linear, linear_units                     products; how they are divided among workers
//	activations, amxgemm, dequantgemm        inputs of products; products by AMX, by dequantised weights
//	attention, kvpool, kvread, kvsplit       attention, the KV pool, blocks read from it, segments
//	sampling, penalties, topk, topp, draw    from logits to a token
//	logprobs                                 log probabilities
//
// # Exactness
//
// How a stage is split depends on the number of rows and threads, but the order in which
// one output element is summed does not: a product of weights runs along the columns in
// one lane (package gemm), attention has blocks of 64 positions and segments of 512,
// counted from 0 (attention.go), sampling adds up in the order of token ids, or in a way
// that gives the same bits (topp.go, draw.go). In plain Go products are converted to
// float32 explicitly before they are added, so that the compiler may not fuse them. A
// scale of int8 activations belongs to 32 columns of one row. So a row has the same bits
// alone, in a batch of 64, chunked, with another number of threads or another page size.
//
// # Memory
//
// Matrices keep their stored type if there are kernels for it (storage.go). Load packs
// them into panels (package layout) in one arena outside the Go heap, directly from the
// mapped file, and releases the pages of the file piece by piece (load.go). Rows of
// buffers are padded to multiples of 32, so that panels write whole rows. The input of
// products is laid out in tiles of tokens next to its buffer (activations.go). For
// matrices of integers it is quantised to int8, unless Options.Activations forbids it; a
// single token is read from the buffer if it stays float32. The KV pool is reserved from
// the system and touched on use (kvpool.go). Attention reads runs of 16 slots in place;
// smaller pages are first copied together block by block, which costs time (kvread.go).
// A context of more than 512 positions may be divided into segments among several units
// if threads would otherwise idle (kvsplit.go).
//
// # Concurrency
//
// A model owns its goroutines: the one of its gpu/stepqueue, which runs steps and calls done,
// and helpers. They end with Close. Model follows gpu.Model: calls come from one
// goroutine at a time; done and Quiesce's callback may submit the next step.
package cpu
