// Package rows is the table of rows of a gpu.Model, for devices that build their
// steps on the host. It applies the deltas of a gpu.StepBatch, refuses what no
// correct caller sends, and says what each row computes: tokens, page table,
// and what sampling depends on. It holds the first level of the KV pools.
//
// Everything that a sampled token depends on comes from the row, so a row that
// was closed and opened again with the same tokens goes on with the same bits.
//
// A Table belongs to the goroutine that runs the steps: deltas are applied when
// the step begins, after the one before it is done, so a running step reads its
// rows without a lock, and a step may compute what the one before it sampled.
package rows
