//go:build !race

package clustertest

// raced: the binary under test gets the race detector, too.
const raced = false
