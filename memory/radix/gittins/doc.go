// Package gittins is an eviction policy that learns from the traffic how likely a
// cached page is used again. It evicts the leaf with the least expected use for the
// memory that it takes.
// docs/decisions/0010-eviction-policy.md has the reasons and the figures.
//
//	Policy     the policy, a radix.Learner
//	lifeTable  how long pages of each class wait for their next use
//	index.go   the Gittins index of a class at an age, and the initial assumptions
package gittins
