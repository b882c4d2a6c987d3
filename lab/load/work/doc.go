// Package work says what a load generator asks for, and when: prompts made up
// from a seed or read from files, and the times at which they are due. It
// knows no server and no clock. Equal seeds give equal work: what a session
// asks depends on the seed and on its place alone, so not on how many were
// taken before.
package work
