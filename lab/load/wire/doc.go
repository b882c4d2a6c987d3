// Package wire encodes requests of the OpenAI API and decodes its answers, for
// clients. It writes bodies, splits streams of server-sent events, and extracts the
// fields that a measurement needs. Reading a token allocates nothing, so that the
// client of a benchmark costs little compared with the server.
package wire
