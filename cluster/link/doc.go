// Package link is the core of the two ends of a link between a gateway and an engine. A
// link is the life of one connection between two processes. What is sent on it arrives
// completely and in order, or the link is over; then the gateway has lost the engine, and
// the engine releases what the gateway had. Nothing is sent twice.
//
// Both ends send heartbeats. Silence, a gap in the numbers of frames, a message that is not
// possible, or a peer that does not keep up ends a link. A goodbye ends it without suspects.
//
// # Parts
//
//	options            intervals and limits
//	channel, pieces    what both ends do: numbers, heartbeats, windows; large messages in pieces
//	engine             the gateway's end: it plays the engine
//	gateway            the engine's end: it plays the gateway
//
// # Floors
//
//	options
//	pieces
//	channel
//	engine gateway
package link
