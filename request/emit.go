package request

import "github.com/troupe-engine/troupe/messages"

// outputCell is a CallOutput with room for the usual one token, so that an
// output costs one allocation.
type outputCell struct {
	messages.CallOutput
	token [1]messages.OutputToken
}

// emit delivers what an entry has for its client, if the client wants it now
// and has room for it. What is delivered is forgotten only afterwards.
func (c *Core) emit(e *entry) {
	k := e.call
	if k.gone || k.paused || e.delivered {
		return
	}
	if e.finish == nil && (!e.sub.Stream || len(e.ready) == 0 && e.text.empty()) {
		return
	}
	cell := &outputCell{}
	o := &cell.CallOutput
	o.Call, o.Index, o.Text, o.Finish = k.id, e.index, e.text.text(), e.finish
	switch n := len(e.ready); n {
	case 0:
	case 1:
		cell.token[0] = e.ready[0]
		o.Tokens = cell.token[:]
	default:
		o.Tokens = append(make([]messages.OutputToken, 0, n), e.ready...)
	}
	if !e.promptOut && e.prompted {
		o.Prompt = &messages.PromptOutput{Logprobs: e.logprobs}
	}
	if e.finish != nil {
		o.Usage = e.usage
	} else {
		o.Usage = e.usageNow()
	}
	o.Paused = c.sink.Room(k.events) <= 1
	c.sink.Deliver(k.events, o)

	k.paused = o.Paused
	e.forgetReady()
	if o.Prompt != nil {
		e.promptOut, e.logprobs = true, nil
	}
	if e.finish == nil {
		return
	}
	e.delivered = true
	if k.awaited--; k.awaited == 0 {
		c.table.closeCall(k)
	}
}

// forgetReady empties the backlog and keeps the memory of a small one.
func (e *entry) forgetReady() {
	e.text.reset()
	if clear(e.ready); cap(e.ready) > 64 {
		e.ready = nil
	}
	e.ready = e.ready[:0]
}

// emitCall delivers what all requests of a call have.
func (c *Core) emitCall(k *call) {
	for _, e := range k.entries {
		c.emit(e)
		c.table.settle(e)
	}
}

// resume goes on after the client has drained its channel.
func (c *Core) resume(id messages.CallID) {
	if k := c.table.calls[id]; k != nil {
		k.paused = false
		c.emitCall(k)
	}
}
