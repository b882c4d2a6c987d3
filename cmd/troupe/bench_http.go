package main

import (
	"context"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/web"
)

// overHTTP serves a node on a free port and gives clients of it, until stop.
func overHTTP(n *node.Node, seed uint64) (clients bench.Subject, stop func(), err error) {
	l, err := httpapi.ListenTCP("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	api, fatal := n.API(), make(chan error, 2)
	go func() {
		if err := api.Serve(l); err != nil {
			fatal <- err
		}
	}()
	over := make(chan struct{})
	go func() {
		select {
		case err := <-n.Fatal:
			fatal <- err
		case <-over:
		}
	}()
	clients = web.New(web.Options{
		URL: api.URL(l), Base: bench.Bases(seed, min(n.Checkpoint.Program.Vocab, n.Tokenizer.VocabSize())), Fatal: fatal, Probe: n.ProbeDelay,
	})
	return clients, func() {
		close(over)
		none, cancel := context.WithCancel(context.Background())
		cancel() // nobody waits for an answer any more
		_ = api.Shutdown(none)
	}, nil
}
