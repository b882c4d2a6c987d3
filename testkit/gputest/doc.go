// Package gputest has RunDevice, the conformance suite for devices, and small
// programs with seeded weights to run on them.
//
// A device is compared with gpu/ref within a tolerance, and with itself bit for
// bit: a sequence's results must not depend on other sequences, on its chunks, or
// on the position and size of its pages.
//
// # Parts
//
//	suite                                 RunDevice and the list of checks
//	checkexact, checkrows, checksample    against gpu/ref and itself: logits; rows and steps; sampling
//	checktypes, checkshared, checkerrors  types of weights and of K and V; models that share weights; bad input
//	shapes, build                         small decoders; their programs and random weights
//	run, pool, stream, pair               steps; pools, also filled with NaN; a sequence in chunks; a device beside gpu/ref
//	compare                               tolerances
//	mutate, mutaterows, mutatetypes       devices with one fault each, which the suite must find
package gputest
