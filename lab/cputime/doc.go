// Package cputime tells how much processor time this process has used, for
// benchmarks whose figures must not count what other processes take.
package cputime
