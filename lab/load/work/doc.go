// Package work generates the requests of a load generator and the times at which they are
// due. Prompts are made from a seed or read from files. The package uses neither a server
// nor a clock. Equal seeds give equal work: a session's requests depend only on the seed
// and the session's position.
package work
