// Package cpu is the CPU device: plain Go on every platform, assembly where
// gpu/cpu/kernel has some for the processor, no cgo.
//
// Load compiles a gpu.Program into stages (compile.go). A stage is split into
// units, and a model's workers claim units until the stage is done, each of its
// own range of them first (stealing.go); the one that finishes the last unit opens
// the next stage (workerpool.go). One step is one region: no worker is woken or
// joined between stages. A worker that waits asks for the weights that it will read next
// (ahead.go).
//
// # Exactness
//
// How a stage is split depends on the number of rows and threads, the order in
// which one output element is summed does not: a product of weights runs along
// the columns in one lane (package gemm), attention has blocks of 64 positions
// and segments of 512, counted from 0 (attention.go), the sums of sampling run
// in order of ids or leave no doubt of what those would give (sampler.go). In plain Go
// products are converted to float32 explicitly before they are added, which
// forbids the compiler to fuse them. The scales of int8 activations are those of
// 32 columns of one row. So a row alone, in a batch of 64, chunked, with other
// threads or another page size gives the same bits.
//
// # Memory
//
// Matrices keep their stored type where there are kernels for it (storage.go).
// Load packs them into panels (package layout) in one arena outside the Go heap,
// straight from where the file is mapped, and gives the pages of the file back
// piece by piece (load.go). Rows of buffers are padded to multiples of 32, so
// that panels write whole rows. The input of products is laid out in tiles of
// tokens beside its buffer (activations.go), for matrices of integers quantised
// to int8 unless Options.Activations forbids it; one token alone is read from
// the buffer if it stays float32. The KV pool is reserved from the system and
// touched on use (kv.go). Attention reads runs of 16 slots where they lie; pages
// of less are brought together block by block first, which costs time
// (kvblock.go). A context of more than 512 positions may be computed by several
// units, each for some segments, where threads would idle otherwise (kvsplit.go).
//
// # Concurrency
//
// A model owns its goroutines: the one of its gpu/queue, which runs steps and
// calls done, and helpers. They end with Close. Model follows gpu.Model: calls
// come from one goroutine at a time; done and Quiesce's callback may submit the
// next step.
package cpu
