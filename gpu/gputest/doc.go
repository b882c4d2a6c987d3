// Package gputest tests devices: small programs with seeded weights, ways to
// run them, and RunDevice, the conformance suite that every device passes.
//
// A device is compared with gpu/ref under a tolerance, and with itself bit for
// bit: a sequence's results must not depend on what else runs, how it is
// chunked, where its pages lie or how large they are.
package gputest
