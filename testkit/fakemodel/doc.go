// Package fakemodel is an executor without a device, for exact tests of the whole
// engine above the device, in microseconds.
//
// It keeps each row's page table and tokens from the deltas of RunBatch, and a
// KV pool of one int32 per slot. Storing the token of position p writes a hash
// of (the KV value of position p-1, the token, p), so like real KV a value
// depends on all tokens up to its position. The next token is a hash of the
// sampling parameters and of every KV value read back through the page table.
// A wrong page, a stale prefix, a double free or a missing recompute therefore
// changes the output, while the output of a correct engine depends on prompt,
// parameters and seed only. Expected computes it without pages.
//
// Deltas that no correct batch former sends (work on a row that is not open, a
// gap in positions, a write to a page that another row can see, …) fail the
// step. They are also kept in Violations, because an engine that recovers from
// a failed step would hide them: tests assert that the list is empty.
//
// # Concurrency properties
//
//   - Every method is safe for concurrent use.
//   - Steps execute one at a time in the order of Submit; so do their callbacks.
//   - A callback runs on the goroutine of Submit, of Complete (Manual) or on a
//     goroutine of the executor (Async), never under a lock.
//
// # Parts
//
//	executor, options    steps one at a time, callbacks, violations; settings
//	step, rows           a step's work: KV stored, read and sampled; page tables from the deltas
//	draw, expected       the hashes; the output of a request, computed without pages
//	fence, faults        pages that two steps may not use; steps that fail, panic or hang
package fakemodel
