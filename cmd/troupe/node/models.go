package node

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/actors/cluster"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/telemetry"
)

// OpenModel implements cluster.Gateway.
func (g *clustered) OpenModel(ctx context.Context, m *wire.Model, texts []byte) (*cluster.GatewayModel, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	n := g.node
	model, err := ModelFromTexts(texts, m, n.Config())
	if err != nil {
		return nil, err
	}
	model.Created = time.Now().Unix()
	gm := &gatewayModel{name: m.Name, texts: m.Texts, meter: telemetry.New(m.Name, 1, n.opt.Log)}
	if old := g.named(m.Name); old != nil { // of engines that have all left
		if old.own != nil {
			return nil, fmt.Errorf("this node's own engine serves the model %s", m.Name)
		}
		if err := g.end(ctx, old); err != nil {
			return nil, err
		}
	}
	table := n.limits(facts{context: int(m.Context), pool: int(m.Context), vocab: int(m.Vocab), running: int(m.Running)})
	if err := g.add(gm, g.frontSpec(gm, table, int(m.PageSize)), model, wireLimits(int(m.Context), int(m.Vocab))); err != nil {
		return nil, err
	}
	return gm.GatewayModel, nil
}

// CloseModel implements cluster.Gateway.
func (g *clustered) CloseModel(ctx context.Context, name string) {
	g.opening.Lock()
	defer g.opening.Unlock()
	if gm := g.named(name); gm != nil && gm.own == nil {
		if err := g.end(ctx, gm); err != nil {
			g.node.opt.Log.Error().Err(err).Msg("a model without engines cannot be closed")
		}
	}
}

// Busy implements cluster.Gateway.
func (g *clustered) Busy(name string) bool {
	gm := g.named(name)
	return gm != nil && gm.meter.Value(messages.RequestsOpen) > 0
}

// named is the model of a name, nil if there is none.
func (g *clustered) named(name string) *gatewayModel {
	for _, gm := range g.all() {
		if gm.name == name {
			return gm
		}
	}
	return nil
}

// end stops intake and dispatch of a model that has no engine any more.
func (g *clustered) end(ctx context.Context, gm *gatewayModel) error {
	gm.Send(&messages.AbortRequests{All: true, ShuttingDown: true})
	grace, cancel := context.WithTimeout(ctx, abortGrace)
	defer cancel()
	gm.Drain(grace) // what is left has no client that reads
	g.list(gm.name) // whatever comes next, nobody can use it any more
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer cancel()
	if err := gm.Stop(limit); err != nil {
		return fmt.Errorf("the old actors of the model %s have not stopped yet: %w", gm.name, err)
	}
	return nil
}
