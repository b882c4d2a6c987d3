// Package sampletest tests the kernels sample and score over the emulation: against a
// plain twin, to the last bit, and against gpu/ref. cc has the programs in C++.
package sampletest
