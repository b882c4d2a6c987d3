// Package wire is the OpenAI API as bytes, from a client's side: it writes the
// bodies of requests, splits streams of server-sent events, and takes from
// answers what a measurement needs. Reading a token allocates nothing, so that
// the client of a benchmark costs little beside the server.
package wire
