package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/wire"
)

// The methods of the door.
const (
	methodMeet     = "Meet"
	methodOpenLink = "OpenLink"
	methodFetch    = "Fetch"
	methodReport   = "Report"
)

// refusal is an error for another node.
type refusal string

func (r refusal) Error() string { return string(r) }

// door answers the calls of other nodes.
type door struct{ cluster *Cluster }

func (d door) Serve(ctx context.Context, method string, read, write func(proto.Message) error) error {
	switch method {
	case methodMeet:
		h := &wire.Hello{}
		if err := read(h); err != nil {
			return err
		}
		r, err := d.ask(ctx, h, nil)
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
		r, err := d.ask(ctx, o.Hello, o)
		if err != nil {
			return err
		}
		return write(&wire.LinkOpened{Key: r.key})
	case methodFetch:
		f := &wire.Fetch{}
		if err := read(f); err != nil {
			return err
		}
		return d.fetch(ctx, f.Hash, write)
	case methodReport:
		q := &wire.Report{}
		if err := read(q); err != nil {
			return err
		}
		if d.cluster.opt.Answer == nil {
			return errors.New("this node is starting; try again in a moment")
		}
		return d.cluster.opt.Answer(ctx, q.Kind, q.Question, func(answer []byte) error { return write(&wire.Reported{Answer: answer}) })
	}
	return fmt.Errorf("unknown method %.100q; run the same version of troupe on all nodes", method)
}

// ask has the parent answer.
func (d door) ask(ctx context.Context, h *wire.Hello, open *wire.OpenLink) (reply, error) {
	answer := make(chan reply, 1)
	d.cluster.system.Root.Send(d.cluster.pid, &called{h, open, answer})
	select {
	case r := <-answer:
		return r, r.err
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// pieceBytes is the size of a piece of texts.
const pieceBytes = 64 << 10

// mostTexts bounds the texts of a model, in bytes.
const mostTexts = 256 << 20

// fetch sends the texts of this node's model.
func (d door) fetch(ctx context.Context, hash string, write func(proto.Message) error) error {
	answer := make(chan []byte, 1)
	d.cluster.system.Root.Send(d.cluster.pid, &textsOf{hash, answer})
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
		n := min(len(texts), pieceBytes)
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

// fetch gets the texts of a model from a node, and checks their hash.
func (p *parent) fetch(ctx context.Context, address, hash string) ([]byte, error) {
	var texts []byte
	err := p.cluster.transport.Call(ctx, address, methodFetch, &wire.Fetch{Hash: hash}, func() proto.Message { return &wire.Piece{} }, func(m proto.Message) error {
		texts = append(texts, m.(*wire.Piece).Data...)
		if len(texts) > mostTexts {
			return fmt.Errorf("the tokenizer and template have more than %d bytes", mostTexts)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the tokenizer from %s: %w", address, err)
	}
	if sum := sha256.Sum256(texts); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("the tokenizer from %s does not have the hash %s", address, hash)
	}
	return texts, nil
}
