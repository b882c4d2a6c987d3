// Package radix is the prefix cache: which page of the KV pool holds the KV of
// which tokens. It holds no KV itself, only page numbers.
//
//	Tree     radix tree of cached prefixes, in whole pages
//	Policy   what the tree evicts first; package policies has them by name
//	Learner  a policy that learns from the traffic, such as package gittins
//	Core     the cache's actor core, around a Tree
//	View     a part of a tree, for people
//
// Everything here is plain data for one owner: no goroutine, clock, lock,
// randomness or IO. Equal calls give equal results, page numbers included.
package radix
