//go:build race

package node

// raced: the race detector makes the device many times slower.
const raced = true
