//go:build !race

package httpapi_test

// raced: the race detector makes the device many times slower.
const raced = false
