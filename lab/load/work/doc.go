// Package work generates the requests of a load generator and the times at which
// they are due. Prompts are made from a seed or read from files. The package knows
// no server and no clock. Equal seeds give equal work: the requests of a session
// depend only on the seed and on the session's position.
package work
