package portal

import "github.com/troupe-engine/troupe/messages"

// Next returns the Core that follows one that panicked, without gateways and with the
// engine down. Its epochs follow those that gateways know. The message of the panic is
// lost; if it was an EpochStarted, that epoch is the one that must end. Without its number
// it would go on, and no gateway would ever hear of it.
func Next(old *Core, lost any) *Core {
	c := New()
	c.engine, c.epochs = old.engine, old.epochs
	if m, ok := lost.(*messages.EpochStarted); ok && m.Epoch > c.engine.Epoch {
		c.engine = m.Header
	}
	return c
}

// startOver ends the engine's epoch, because this is a new incarnation of the portal, or
// has a gateway of this process submit everything again.
func (c *Core) startOver(m *messages.FailEpoch, out *messages.Outbox) {
	switch g := c.gateways[m.Engine]; {
	case m.From == messages.Portal:
		out.ToSupervisor(&messages.FailEpoch{Header: c.engine, From: messages.Portal, Cause: m.Cause, Planned: m.Planned})
	case g == nil || g.header != m.Header:
		out.Record(messages.StaleMessages, 1)
	default:
		c.join(m.Engine, out)
	}
}
