// Package ref is the reference device: it interprets a gpu.Program op by op in the
// most obvious way. Other devices are tested against it.
//
// # Numbers
//
// Buffers hold float32 and every op rounds once at its end; inside an op sums
// are carried in float64 in the order of the index. So ref is closer to the
// exact result than a device is, and a device is compared with it within a
// tolerance, not bit for bit. Some things are defined exactly and equal to the bit:
// weights as gpu/quant decodes them, K and V rounded to the pool's type, the
// order of candidates, the sums of sampling (see sample.go).
//
// Each row of an op reads only its own token and the positions before it, so
// ref is batch-invariant bit for bit as devices are.
//
// # Concurrency
//
// Steps run on the goroutine of a gpu/stepqueue. Model follows gpu.Model: calls come
// from one goroutine at a time.
package ref
