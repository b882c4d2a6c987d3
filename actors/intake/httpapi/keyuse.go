package httpapi

// KeyUse counts what the holder of an API key uses. Safe for concurrent use.
type KeyUse interface {
	Requests(n int)
	Prompt(tokens int)
	Output(tokens int)
}

// countKey counts an accepted call for its key, and has its output counted as it comes.
// Choices of one prompt share it, so it counts once.
func (c *call) countKey(of func(name string) KeyUse, name string) {
	if of == nil || name == "" {
		return
	}
	c.use = of(name)
	c.use.Requests(len(c.plan.subs))
	tokens := 0
	for i := range c.plan.subs {
		if sub := &c.plan.subs[i]; sub.After < 0 {
			tokens += len(sub.Prompt)
		}
	}
	c.use.Prompt(tokens)
}
