// Package pool decides the size of the KV pool: as many pages as memory and settings
// allow. A Plan has every figure of the calculation and its source.
//
// # Floors
//
//	defaults
//	plan
package pool
