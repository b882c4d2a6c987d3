//go:build amd64 && !linux

package simd

// tilesAllowed: this package does not know how other systems allow AMX.
const tilesAllowed = false
