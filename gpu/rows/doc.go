// Package rows is the table of rows of a gpu.Model, for devices that build their steps on
// the host. It applies the deltas of a gpu.StepBatch, refuses deltas that a correct
// caller never sends, and returns what each row computes: tokens, page table, and
// everything that sampling depends on. A page table leads from a row's positions to the
// pages of the device's KV pool.
//
// Everything that a sampled token depends on comes from the row, so a row that
// was closed and opened again with the same tokens continues with the same bits.
//
// A Table belongs to the goroutine that runs the steps. With Run, a step begins after the
// previous one is done, so it reads its rows without a lock and may compute the tokens
// that the previous one sampled. A device that computes beside the host uses Begin and
// End: a step begins while the previous one is computed, and the tokens that it samples
// are Unknown to the host.
//
// # Parts
//
//	table            a step on the rows, from its changes to what was sampled
//	deltas, check    the changes of a StepBatch; those that are refused
//	sequence         a row's work, for the device
//	tokencounts      how often tokens are in a row, for penalties
package rows
