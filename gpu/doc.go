// Package gpu is the interface between models and devices.
//
// A model is emitted once as a Program: a static list of ops over named buffers and
// weights. A Device loads a program with its weights (it may fuse, pack, plan barriers,
// capture graphs) and runs steps of it. A Model keeps a table of rows: for each sequence
// the tokens, the page table, and how to sample. A StepBatch has only the changes to the
// rows, and how much each row computes. Two steps may be in flight, and the second may
// compute tokens that the first one samples; these tokens need not leave the device. Only
// the device knows the memory layout of the KV pool; all other code uses pages.
//
// # Parts
//
//	program, check, dataflow        a Program and its ops; whether it is well formed; which buffers an op reads and writes
//	device, weights, model, pool    a Device; the tensors that it loads; what it makes of them; the KV pool
//	step, sampling                  a StepBatch and its results; how tokens are chosen; random numbers
//	dtype, float16                  types of stored elements; BF16 and F16
//	deviceerror                     errors of a device and its driver
//
// # Exactness
//
// Every op computes a row in an order that does not depend on how many rows there are or
// which ones: fixed splits and reduction order, attention blocks at absolute positions, K
// and V stored first and read back rounded (also inside a chunk), masked positions
// skipped and never multiplied. So a sequence's results depend on its own tokens only,
// bit for bit, within one device's Fingerprint.
//
// gpu/ref interprets a program op by op and is what every device is tested against.
package gpu
