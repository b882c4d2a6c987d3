// Package simtest runs all cores of an engine together in seeded simulation. It
// runs thousands of schedules per second, and each can be replayed from its seed.
//
// A World holds one core per role, a fake model as the device, and a slow, obvious
// twin of intake. Messages wait on one FIFO link per pair of roles, and a seeded
// scheduler picks the link that delivers next; this covers every order that the
// runtime may produce. The scheduler also draws arrivals, cancels, ends that intake
// decides, flushes, audits, panics in any core at any message and device errors.
// After a crash all state of the epoch is dropped, new cores start, and the twin
// submits unfinished requests again.
//
// # Checks
//
//   - after every message: the cores' own invariants (build tag invariants)
//     and, whenever no plan is on its way, that every page has one owner
//   - at every StepResults: no gap, no repeated and no missing token, no end
//     for a request that has one
//   - at the end: each request ended exactly once with exactly the tokens,
//     reasons and log probabilities of fakemodel.Expected; nothing is leased
//     or locked; no audit failed; the device saw no illegal step
package simtest
