// Package gputest has RunDevice, the conformance suite for devices, and small
// programs with seeded weights to run on them.
//
// A device is compared with gpu/ref within a tolerance, and with itself bit for
// bit: a sequence's results must not depend on other sequences, on its chunks, or
// on the position and size of its pages.
package gputest
