package bench

import (
	"context"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cmd/troupe/node"
	"github.com/troupe-engine/troupe/lab/bench"
	"github.com/troupe-engine/troupe/lab/bench/web"
)

// overHTTP serves a node on a free port until stop is called, and returns clients of it.
func overHTTP(n *node.Node, seed uint64) (clients bench.Subject, stop func(), err error) {
	l, err := httpapi.ListenTCP("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	api := n.API()
	go func() {
		if err := api.Serve(l); err != nil {
			n.Fail(err)
		}
	}()
	clients, err = web.New(web.Options{
		URL: api.URL(l), Base: bench.Prompts{Seed: seed, Vocab: min(n.Checkpoint.Program.Vocab, n.Tokenizer.VocabSize())}.Base, Fatal: n.Fatal,
	})
	return clients, func() {
		none, cancel := context.WithCancel(context.Background())
		cancel() // no client waits for an answer now
		_ = api.Shutdown(none)
	}, err
}
