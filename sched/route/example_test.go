package route_test

import (
	"fmt"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/sched/route"
)

// A request goes to the replica where its first token is expected first: where
// its prefix is cached, unless that replica has too much other work.
func ExampleRouter() {
	r := route.New(route.Options{Replicas: 2, PageSize: 64})

	// All prompts have 1024 tokens and begin with the same 12 pages of 64. The
	// hash of a page covers all pages before it, so the last ones differ.
	prompt := func(id int) route.Request {
		pages := make([]uint64, 16)
		for i := range pages {
			if pages[i] = uint64(1 + i); i >= 12 {
				pages[i] = uint64(100*id + i)
			}
		}
		return route.Request{ID: messages.RequestID(id), Tokens: 1024, Pages: pages}
	}
	route := func(id int) {
		to, _ := r.Route(prompt(id))
		fmt.Printf("request %d: replica %d, %d cached pages\n", id, to.Replica, to.Matched)
	}
	route(1)
	r.Started(1) // its first token has come, so its prompt is computed

	// Replica 0 has the prefix. It is chosen until its queue costs more than the
	// cache saves.
	route(2)
	route(3)
	route(4)
	fmt.Printf("replica 0: %+v\n", r.Load(0))

	// Output:
	// request 1: replica 0, 0 cached pages
	// request 2: replica 0, 12 cached pages
	// request 3: replica 0, 12 cached pages
	// request 4: replica 1, 0 cached pages
	// replica 0: {Waiting:2 WaitingTokens:512 Running:1 RunningTokens:1024}
}
