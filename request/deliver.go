package request

import "github.com/troupe-engine/troupe/messages"

// outputCell is a CallOutput with space for one token, the usual number: one allocation.
type outputCell struct {
	messages.CallOutput
	token [1]messages.OutputToken
}

// emit delivers an entry's output if its client wants it now and the channel has space.
// Output is dropped only after it was delivered.
func (c *Core) emit(e *entry) {
	k := e.call
	if k.disconnected || k.paused || e.delivered {
		return
	}
	if e.finish == nil && (!e.sub.Stream || len(e.ready) == 0 && e.text.empty()) {
		return
	}
	cell := &outputCell{}
	o := &cell.CallOutput
	o.Call, o.Index, o.Text, o.Finish, o.Fingerprint = k.id, e.index, e.text.text(), e.finish, e.fingerprint
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

// deliver emits what an entry has for its client, and drops the entry if that was all.
func (c *Core) deliver(e *entry) {
	c.emit(e)
	c.table.drop(e)
}

func (c *Core) deliverCall(k *call) {
	for _, e := range k.entries {
		c.deliver(e)
	}
}
