package members

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/troupe-engine/troupe/cluster/report"
	"github.com/troupe-engine/troupe/cluster/wire"
)

// model is a served name. All engines of one must have the same weights and texts.
type model struct {
	facts *wire.Model // of the engine that was first
	state modelState
	left  time.Duration // when it was opened, could not be opened, or the last link to an engine ended
	own   bool          // this node's engine serves it too
	tries int           // how often in a row it could not be opened
	cause string        // why, the last time
}

// rarest is the longest time between two tries to open a model. A try may fetch
// wire.TextsBytes.
const rarest = 30 * time.Second

// pause is the time from a failed try to the next one.
func (c *Core) pause(m *model) time.Duration {
	return min(rarest, c.opt.Timeout<<min(m.tries-1, 10))
}

type modelState uint8

const (
	learning modelState = iota // its texts are fetched
	open
	failed // they could not be used
)

// mostModels bounds the served names of a gateway.
const mostModels = 256

// differ says how two models of one name differ; "" if a request can move between their engines.
func differ(a, b *wire.Model) string {
	switch {
	case a.Weights != b.Weights:
		return "other weights"
	case a.Texts != b.Texts:
		return "another tokenizer, chat template or defaults"
	case a.Context != b.Context:
		return fmt.Sprintf("a context of %d tokens instead of %d", b.Context, a.Context)
	case a.Vocab != b.Vocab:
		return fmt.Sprintf("a vocabulary of %d tokens instead of %d", b.Vocab, a.Vocab)
	}
	return ""
}

// open reports whether requests for the engine's model can be accepted here. If not, it
// begins to learn the model, or refuses the engine.
func (c *Core) open(now time.Duration, p *peer, out *Outbox) bool {
	e := p.hello.Engine
	m, next := c.models[e.Name], &model{facts: e}
	if m != nil {
		if m.state == failed {
			if now-m.left < c.pause(m) {
				return false
			}
			next.tries, next.cause = m.tries, m.cause
		} else if why := differ(m.facts, e); why != "" && (m.state == learning || c.needed(now, e.Name, m)) {
			p.refused = fmt.Sprintf("engine %s is not used: its model %s differs from that of the engines which this gateway already has (%s). Give it the same model, or another served-model-name", p.hello.Node, e.Name, why)
			return false
		} else if why == "" && m.state == open {
			return true
		} else if m.state == learning {
			return false
		}
	} else if e.Name == c.opt.Own { // this node's engine is about to serve it
		return false
	} else if len(c.models) >= mostModels && !c.forget(now, out) {
		p.refused = fmt.Sprintf("gateway %s has %d models; more are not allowed", c.self.Node, mostModels)
		return false
	}
	c.models[e.Name] = next
	out.Learn = append(out.Learn, Learn{p.address, e})
	return false
}

// needed reports whether a model must stay as it is: an engine serves it, or will be back
// soon, or requests wait for one.
func (c *Core) needed(now time.Duration, name string, m *model) bool {
	away := now - m.left
	return c.served(name) || away < c.opt.Timeout || away < c.opt.Resume && c.opt.Busy(name)
}

// forget makes room for another model: it closes the one that has been without an engine for
// longest. It reports false if all are needed.
func (c *Core) forget(now time.Duration, out *Outbox) bool {
	oldest := ""
	for _, name := range slices.Sorted(maps.Keys(c.models)) {
		if m := c.models[name]; m.state != learning && !c.needed(now, name, m) && (oldest == "" || m.left < c.models[oldest].left) {
			oldest = name
		}
	}
	if oldest == "" {
		return false
	}
	delete(c.models, oldest)
	out.Forget = append(out.Forget, oldest)
	return true
}

// served reports whether an engine of a model has a link.
func (c *Core) served(name string) bool {
	if m := c.models[name]; m != nil && m.own {
		return true
	}
	for _, p := range c.slots {
		if p.hello.GetEngine().GetName() == name {
			return true
		}
	}
	return false
}

// Learned says that a model is open, or why it cannot be used.
func (c *Core) Learned(now time.Duration, name string, err error, out *Outbox) {
	m := c.models[name]
	if m == nil {
		return
	}
	if err != nil {
		if cause := err.Error(); cause != m.cause {
			m.cause = cause
			out.Events = append(out.Events, Event{report.EventRefused, "", fmt.Sprintf("the model %s cannot be used by this gateway: %s", name, cause)})
		}
		m.state, m.left = failed, now
		m.tries++
		return
	}
	m.state, m.left, m.tries, m.cause = open, now, 0, ""
	out.Events = append(out.Events, Event{report.EventModel, "", fmt.Sprintf("this gateway now serves the model %s", name)})
	for _, p := range c.inOrder() {
		if p.hello != nil && p.hello.GetEngine().GetName() == name {
			c.consider(now, p, out)
		}
	}
}
