package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// moves measures how long requests that an engine has lost wait for their next token.
type moves struct {
	open    int           // that have not continued or ended
	count   int           // since open was 0
	begun   int           // of them those with output
	longest time.Duration // between two tokens of one
}

// move says that a request must be computed elsewhere, or in another epoch.
func (m *moves) move(e *entry) {
	if e.moved || e.finish != nil {
		return
	}
	e.moved = true
	m.open++
	m.count++
	if len(e.output) > 0 {
		m.begun++
	}
}

// continued says that a request that was moved has ended, or has got a token after a
// pause; 0 if it had none before. The last one tells people of all.
func (m *moves) continued(e *entry, pause time.Duration, out *messages.Outbox) {
	e.moved = false
	m.longest = max(m.longest, pause)
	if m.open--; m.open > 0 {
		return
	}
	text := "requests have moved"
	if m.count == 1 {
		text = "request has moved"
	}
	text = fmt.Sprintf("%d %s to another engine or epoch", m.count, text)
	if m.begun > 0 {
		text += fmt.Sprintf("; the longest pause between two tokens was %v", m.longest.Round(time.Millisecond))
	}
	out.Notes = append(out.Notes, messages.Note{Level: messages.NoteInfo, Text: text, Moved: m.count, Pause: m.longest})
	*m = moves{}
}
