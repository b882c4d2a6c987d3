// Package simtest runs all cores of an engine together in seeded simulation. It
// runs thousands of schedules per second, and each can be replayed from its seed.
//
// A World holds one core per role, a fake model as the device, and a slow, obvious
// twin of intake. Messages wait in one FIFO queue per pair of roles, and a seeded
// scheduler picks the queue that delivers next; this covers every order that the
// runtime may produce. The scheduler also draws arrivals, cancels, ends that intake
// decides, flushes, audits, panics in any core at any message and device errors.
// After a crash all state of the epoch is dropped, new cores start, and the twin
// submits unfinished requests again.
//
// In a cluster, links and portals are between several gateways and the engines. Frames
// go through protobuf. The scheduler also cuts links, and ends processes with all that
// is in them; most start again.
//
// # Checks
//
//   - after every message: the cores' own invariants (build tag invariants)
//     and, whenever no plan is on its way, that every page has one owner
//   - at every StepResults: no gap, no repeated and no missing token, no end
//     for a request that has one
//   - at the end: each request ended exactly once with exactly the tokens,
//     reasons and log probabilities of fakemodel.Expected; nothing is leased
//     or locked; no audit failed; the device saw no illegal step. The clients of
//     a dead gateway have the first tokens, its requests hold nothing. Each gateway
//     can use each engine again, unless one of them is dead
//
// # Parts
//
//	config              what differs between runs
//	world               the loop, the cores of engines, crashes
//	links               which actor a message reaches, and when
//	gateway, cluster    processes that die; links that are cut
//	intake, client      the twin: calls, what intake hears, what clients must get
//	runner              the runner's twin
package simtest
