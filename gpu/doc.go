// Package gpu is the seam between models and devices.
//
// A model is emitted once as a Program: a static list of ops over named
// buffers and weights. A Device loads a program with its weights (it may fuse,
// pack, plan barriers, capture graphs) and runs steps of it. A Model keeps a table
// of rows: of each sequence the tokens, the page table, and how to sample. A
// StepBatch brings only what changes in them and which rows compute how much. Two
// steps may be in flight, and the second may compute tokens that the first one
// samples: they need never leave the device for that. The layout of the KV pool
// is the device's secret; everyone else speaks of pages.
//
// # Exactness
//
// Every op computes a row in an order that does not depend on how many rows
// there are or which ones: fixed splits and reduction order, attention blocks
// at absolute positions, K and V stored first and read back rounded, inside a
// chunk too, masked positions skipped and never multiplied. So a sequence's
// results depend on its own tokens only, bit for bit, within one device's
// Fingerprint.
//
// gpu/ref interprets a program op by op and is what every device is tested
// against.
package gpu
