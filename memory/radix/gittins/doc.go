// Package gittins is an eviction policy that learns from the traffic how likely a
// cached page is used again. It evicts the leaf with the least expected use per page. docs/decisions/0010-eviction-policy.md has the reasons.
//
// # Floors
//
//	note
//	lifetable
//	prior
//	index
//	gittins
package gittins
