package cluster

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// The methods of calls between nodes.
const (
	methodMeet     = "Meet"
	methodOpenLink = "OpenLink"
	methodFetch    = "Fetch"
	methodReport   = "Report"
)

// callServer answers the calls of other nodes.
type callServer struct{ cluster *Cluster }

func (s callServer) Serve(ctx context.Context, method string, read, write func(proto.Message) error) error {
	select {
	case <-s.cluster.up: // the port is open a moment before
	case <-ctx.Done():
		return ctx.Err()
	}
	switch method {
	case methodMeet:
		h := &wire.Hello{}
		if err := read(h); err != nil {
			return err
		}
		r, err := s.ask(ctx, h, nil)
		if err != nil {
			return err
		}
		return write(r.hello)
	case methodOpenLink:
		o := &wire.OpenLink{}
		if err := read(o); err != nil {
			return err
		}
		if o.Hello == nil || len(o.Key) != 32 {
			return errors.New("the call has no hello or no key; run the same version of troupe on all nodes")
		}
		r, err := s.ask(ctx, o.Hello, o)
		if err != nil {
			return err
		}
		return write(&wire.LinkOpened{Key: r.key})
	case methodFetch:
		f := &wire.Fetch{}
		if err := read(f); err != nil {
			return err
		}
		return s.fetch(ctx, f.Hash, write)
	case methodReport:
		q := &wire.Report{}
		if err := read(q); err != nil {
			return err
		}
		if s.cluster.opt.Answer == nil {
			return errors.New("this node is starting; try again in a moment")
		}
		return s.cluster.opt.Answer(ctx, q.Kind, q.Question, func(answer []byte) error { return write(&wire.Reported{Answer: answer}) })
	}
	return fmt.Errorf("unknown method %.100q; run the same version of troupe on all nodes", method)
}

// ask has the parent answer.
func (s callServer) ask(ctx context.Context, h *wire.Hello, open *wire.OpenLink) (reply, error) {
	answer := make(chan reply, 1)
	s.cluster.system.Root.Send(s.cluster.pid, &called{h, open, answer})
	select {
	case r := <-answer:
		return r, r.err
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// fetch sends the texts of this node's model.
func (s callServer) fetch(ctx context.Context, hash string, write func(proto.Message) error) error {
	answer := make(chan []byte, 1)
	s.cluster.system.Root.Send(s.cluster.pid, &textsOf{hash, answer})
	var texts []byte
	select {
	case texts = <-answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	if texts == nil {
		return errors.New("this node does not have the tokenizer and template with this hash")
	}
	for len(texts) > 0 {
		n := min(len(texts), wire.PieceBytes)
		if err := write(&wire.Piece{Data: texts[:n], Last: n == len(texts)}); err != nil {
			return err
		}
		texts = texts[n:]
	}
	return nil
}

// textsOf asks the parent for the texts with a hash; nil if there are none.
type textsOf struct {
	hash  string
	reply chan<- []byte
}

// fetch gets the texts of a model from a node. DecodeTexts checks their hash.
func (p *parent) fetch(ctx context.Context, address, hash string) ([]byte, error) {
	var texts []byte
	err := p.cluster.transport.Call(ctx, address, methodFetch, &wire.Fetch{Hash: hash}, func() proto.Message { return &wire.Piece{} }, func(m proto.Message) error {
		texts = append(texts, m.(*wire.Piece).Data...)
		if len(texts) > wire.TextsBytes {
			return fmt.Errorf("the tokenizer and template have more than %d bytes", wire.TextsBytes)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the tokenizer from %s: %w", address, err)
	}
	return texts, nil
}
