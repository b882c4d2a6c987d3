// Package replay runs a recorded trace through whole simulated engines on virtual
// time. It uses the real cores of the queue, the batch former, the cache and the
// allocator, connected like the actors. Instead of a device, lab/costmodel says how
// long a step takes. With several engines, the real router distributes the requests; with
// several gateways each has a real dispatch, and each engine a real portal.
//
// Everything happens in the order of virtual time; messages between cores are delivered
// at once and in the order of sending. There is no goroutine, and randomness comes only
// from the seed, so equal traces and options make equal reports, byte for byte.
//
// Memory is bounded for traces of any size: prompts are generated from the trace's
// block ids when a request enters the queue and dropped when it ends. While too
// many tokens wait, requests are held back; while too many requests are held back,
// the trace is not read further.
//
// # Parts
//
//	world, source                virtual time, the backlog, requests to engines; the trace, one arrival ahead
//	engine, runner               one engine's cores and messages; the device, by the cost model
//	intake                       in the place of intake: measures tokens and ends
//	cluster, gateway             engines behind several gateways, and the loss of one
//	options                      settings, and what they are for each core
//	report, reporttext, series   figures, also as text; samples over time
package replay
