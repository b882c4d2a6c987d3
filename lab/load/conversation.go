package load

import (
	"github.com/troupe-engine/troupe/lab/load/wire"
	"github.com/troupe-engine/troupe/lab/load/work"
)

// conversation is the messages of a session so far, as the body of its next request.
type conversation struct {
	chat   bool
	body   wire.Body
	wanted int  // tokens of the prompt, 0 if unknown
	vague  bool // it is unknown
}

// system starts with a system message; empty is none.
func (c *conversation) system(text string) {
	switch {
	case text == "":
	case c.chat:
		c.body.Messages = append(c.body.Messages, wire.Message{Role: "system", Content: text})
	default:
		c.body.Text = text + "\n\n"
	}
}

func (c *conversation) ask(t *work.Turn) {
	c.body.MaxTokens = t.MaxTokens
	if c.vague = c.vague || t.Input == 0; c.vague {
		c.wanted = 0
	} else {
		c.wanted += t.Input
	}
	switch {
	case c.chat:
		c.body.Messages = append(c.body.Messages, wire.Message{Role: "user", Content: t.Text})
	case t.IDs != nil:
		c.body.IDs = t.IDs
	default:
		c.body.Text += t.Text
	}
}

func (c *conversation) answered(text string, r *Record) {
	c.wanted += r.Output
	if c.chat {
		c.body.Messages = append(c.body.Messages, wire.Message{Role: "assistant", Content: text})
		return
	}
	c.body.Text += text + "\n\n"
}
