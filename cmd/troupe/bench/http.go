package bench

import (
	"context"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/web"
)

// overHTTP serves a node on a free port until stop is called. The subject is
// clients of that server.
func overHTTP(n *node.Node, seed uint64) (clients bench.Subject, stop func(), err error) {
	l, err := httpapi.ListenTCP("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	api := n.API()
	go func() {
		if err := api.Serve(l); err != nil {
			select {
			case n.Fatal <- err:
			default: // the first reason counts
			}
		}
	}()
	clients, err = web.New(web.Options{
		URL: api.URL(l), Base: bench.Bases(seed, min(n.Checkpoint.Program.Vocab, n.Tokenizer.VocabSize())), Fatal: n.Fatal, Probe: probeDelay(n.System()),
	})
	return clients, func() {
		none, cancel := context.WithCancel(context.Background())
		cancel() // no client waits for an answer any more
		_ = api.Shutdown(none)
	}, err
}
