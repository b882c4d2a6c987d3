// Package replay runs a recorded trace through whole engines on virtual time:
// the real cores of the queue, the batch former, the cache and the allocator,
// wired as the actors are, on a device that only knows how long a step takes
// (lab/costmodel), behind the real router when there are several.
//
// Everything happens in the order of virtual time, with messages between cores
// delivered at once and in the order of sending. There is no goroutine and no
// randomness but the seed's: the same trace and options give the same report,
// byte for byte.
//
// Memory is bounded, whatever the trace's size: prompts are made up from the
// trace's block ids when a request enters the queue and dropped when it ends;
// while too many tokens wait, requests are held back, and a trace is not read
// on while too many are.
package replay
