// Package gittins is an eviction policy that learns from the traffic how likely
// a cached page is used again, and evicts what is least worth its room.
// docs/decisions/0010-eviction-policy.md has the reasons and the figures.
//
//	Policy     the policy, a radix.Learner
//	lifeTable  how long pages of each class wait for their next use
//	index.go   the Gittins index of a class at an age, and what is assumed first
package gittins
