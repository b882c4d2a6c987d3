// Package queue is the waiting queue's actor core: it decides who goes first.
//
//	Core → line: requests that go first whatever the policy, by age
//	     → policy: ranked (fcfs, lof, random, priority), lpm, dfsWeight, fair
//	     → hints: what lpm and dfsWeight ask the cache, one message at a time
//
// All orders are heaps of type ordered. docs/queue.md has the rules.
package queue
