// Package clustertest runs clusters of real processes for tests: it builds the binary,
// starts gateways and engines on this machine, breaks processes and connections, sends
// requests with known answers, and checks at the end that nothing is left behind.
//
// A Cluster cleans up after itself. Its processes die with the test, even if the test is
// killed (on Linux).
//
// # Parts
//
//	binary, ports      the binary under test; addresses that a restarted process gets again
//	node, signals_linux  a process: start, kill, stop, pause
//	cluster            several of them; ready, settled
//	proxy              connections between nodes that are slow, frozen, half open or cut
//	network_linux      network namespaces: links cut without a reset
//	workload, answer   seeded requests; what of an answer must be equal
//	client             sends a request, follows its stream, sends it again if its gateway died
//	rest               what a process must look like when nobody uses it
//	pauses             how long streams were silent
package clustertest
