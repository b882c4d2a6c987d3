// Package route chooses which of several engines serves a request, by cached
// prefix and load.
//
// # Floors
//
//	index
//	router
package route
