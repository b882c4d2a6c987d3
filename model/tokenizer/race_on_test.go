//go:build race

package tokenizer

// raced: the race detector also allocates and keeps functions from being inlined.
const raced = true
