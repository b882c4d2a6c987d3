//go:build race

package jinja

// raced: the race detector also allocates, and keeps functions from being inlined.
const raced = true
