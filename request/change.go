package request

import "github.com/troupe-engine/troupe/messages"

// change is what one token, or an end without a token, changes in an entry. It is
// computed before anything is committed. Several tokens of a request in one
// message are consecutive changes.
type change struct {
	e        *entry
	n        int // output tokens, with this one
	hasToken bool
	token    int32
	logprobs *messages.PositionLogprobs
	start    int // bytes of final text before it
	offset   int // where the token's text starts in the whole text
	stream   Stream
	text     stopStep
	end      messages.EndReason // 0: goes on
	why      string             // for EndFailed
}

// over reports whether the output ends with this change.
func (ch *change) over() bool { return ch.end != 0 || ch.text.matched >= 0 }

// close completes the text of an output that ends: the rest of an unfinished
// character, then the text that was held back, up to a stop string in it.
func (ch *change) close(armed bool) {
	if ch.text.matched >= 0 {
		return
	}
	rest := ""
	if ch.stream != nil {
		rest = ch.stream.Flush()
	}
	before := ch.text.final
	ch.text = ch.e.stops.advance(ch.text.state, ch.text.held, rest, armed, ch.e.sub.KeepStop)
	ch.text.final = before + ch.text.final + ch.text.held
	ch.text.held = ""
}
