// Package members is the core that decides which nodes a node talks to, and which links its
// gateway should have. Discovery and other nodes propose addresses. Nodes call each
// other every 500 ms; the answer says which process is there. Only links, and the answers to
// calls, say who is alive.
//
// # Parts
//
//	core      the state, and what to do next
//	check     who is refused, and why
//	models    the models that engines serve
//	list      the nodes that have been met
package members
