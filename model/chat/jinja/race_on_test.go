//go:build race

package jinja

// raced: the race detector allocates, too, and keeps functions from being inlined.
const raced = true
