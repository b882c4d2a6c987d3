// Package wire has the messages between the nodes of a cluster: the protobuf types, and
// their translation from and to package messages. What comes from another node is checked
// completely before an actor gets it; an error means that the peer must not be trusted.
//
// docs/wire.md lists them all. The types are generated from the file wire.proto
// by the command in the folder gen.
//
// # Parts
//
//	limits              what a message may hold
//	down, params        messages from a gateway to an engine
//	up, logprobs        messages from an engine to a gateway
//	texts               what a gateway needs of a model: sent on its own, not in frames
package wire

//go:generate go run ./gen
