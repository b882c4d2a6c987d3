// Package pool decides how many pages the KV pool gets: as many as memory and
// settings allow. A Plan has every figure of the calculation and where it comes
// from.
package pool
