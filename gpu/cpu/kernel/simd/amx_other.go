//go:build amd64 && !linux

package simd

// tilesAllowed: how other systems allow tiles is not known to this package.
const tilesAllowed = false
