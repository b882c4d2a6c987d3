package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
)

// Messages to the parent, of this package only.
type (
	// withdraw sets the state that other nodes see. With end, the engine takes no more
	// links, and those that it has end with a goodbye; the reply is how many.
	withdraw struct {
		state, cause string
		end          bool
		reply        chan int
	}
	// findEnd finds the end of a link by its name, or the one to an incarnation besides
	// another one. With cause, it is ended.
	findEnd struct {
		name  string
		like  *end
		cause string
		reply chan *end
	}
)

// Ask sends an operator's question to the node at an address. each is called with each answer.
func (c *Cluster) Ask(ctx context.Context, address, kind string, question []byte, each func([]byte) error) error {
	return c.transport.Call(ctx, address, methodReport, &wire.Report{Kind: kind, Question: question},
		func() proto.Message { return &wire.Reported{} }, func(m proto.Message) error { return each(m.(*wire.Reported).Answer) })
}

// SetState changes the state that other nodes see.
func (c *Cluster) SetState(state string) {
	c.system.Root.Send(c.pid, &withdraw{state: state, reply: make(chan int, 1)})
}

// Withdraw takes the engine out of service until Serve: its links end with a goodbye, so
// that its requests continue elsewhere at once. It returns how many links it had.
func (c *Cluster) Withdraw(ctx context.Context, state, cause string) (int, error) {
	m := &withdraw{state, cause, true, make(chan int, 1)}
	c.system.Root.Send(c.pid, m)
	select {
	case n := <-m.reply:
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (p *parent) withdraw(ctx actor.Context, m *withdraw) {
	model := p.model()
	if m.end {
		p.withdrawn, model = true, nil
	}
	p.core.Set(m.state, model)
	n := 0
	for name, e := range p.ends {
		if m.end && e.kind == playsGateway {
			n++
			ctx.Send(p.cluster.system.NewLocalPID(Name+"/"+name), &messages.EndLink{Cause: m.cause})
		}
	}
	answer(m.reply, n)
}

// model is what this node's engine serves now, or nil.
func (p *parent) model() *wire.Model {
	if p.engine == nil || p.withdrawn {
		return nil
	}
	return p.engine.Model
}

// RestartLink ends the link of an actor, and says what came after it.
func (c *Cluster) RestartLink(ctx context.Context, path, cause string) (string, error) {
	begun := time.Now()
	old, err := c.find(ctx, &findEnd{name: strings.TrimPrefix(path, Name+"/"), cause: cause})
	if err != nil {
		return "", err
	}
	if old == nil {
		self := c.opt.Self.Node
		return "", &report.Error{Kind: report.Refused, Text: fmt.Sprintf("actor %s of node %s is not an open link now; `troupe cluster actors --node %s` lists those that are, and an engine that was drained has none until `troupe cluster undrain`", path, self, self)}
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		next, err := c.find(ctx, &findEnd{like: old})
		switch {
		case err != nil:
			return "", fmt.Errorf("the link to node %s has ended, and the next one has not begun yet: %w", old.node, err)
		case next != nil:
			return fmt.Sprintf("the link to node %s has ended; the next one began after %v", old.node, time.Since(begun).Round(time.Millisecond)), nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

func (c *Cluster) find(ctx context.Context, m *findEnd) (*end, error) {
	m.reply = make(chan *end, 1)
	c.system.Root.Send(c.pid, m)
	select {
	case e := <-m.reply:
		return e, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *parent) find(m *findEnd) *end {
	for name, e := range p.ends {
		if m.like == nil && name == m.name || m.like != nil && e != m.like && e.kind == m.like.kind && e.from == m.like.from {
			if m.cause != "" {
				p.cluster.system.Root.Send(linkPID(p.cluster.system, e.kind, e.slot), &messages.EndLink{Cause: m.cause})
			}
			return e
		}
	}
	return nil
}
