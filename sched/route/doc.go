// Package route chooses the engine that serves a request, by cached prefix and load.
//
// # Floors
//
//	index
//	shared router
package route
