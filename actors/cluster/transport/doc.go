// Package transport is what the nodes of a cluster speak over: protoactor's remote for the
// frames of links, and gRPC calls for everything that is not on a link.
//
// An incarnation of a node has an address of its own, troupe:///HOST:PORT/INCARNATION, so
// that a message to a process that has died never reaches the next one at the same port. A
// link adds its key, because it has a connection of its own.
//
// # What a peer can do
//
// The runtime's remote trusts its peers completely: it delivers any message to any actor,
// and some of its calls panic. So every batch is checked before the runtime sees it. It
// may contain frames only, and only for links of this node. A link is named by its key, a
// random number that its two ends alone know; the check replaces it by the name of the
// actor, and leaves out frames for keys that are not known. What is wrong ends the
// connection, and with it the link that used it.
//
// # Parts
//
//	transport     starting and stopping; sending; the end of connections
//	connection    checks of what comes in
//	links         the keys of links, and their connections
//	calls         calls from node to node
//	clients       the connections that calls use
package transport
