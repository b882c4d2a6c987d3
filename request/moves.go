package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// moves measures how long requests that an engine has lost wait for their next token.
type moves struct {
	open      int           // that have neither continued nor ended
	continued int           // since open was 0
	begun     int           // of them those that had output when they moved
	longest   time.Duration // between two tokens of one
}

// move says that a request must be computed elsewhere, or in another epoch.
func (m *moves) move(e *entry) {
	if e.moved || e.finish != nil {
		return
	}
	e.moved = true
	m.open++
}

// goOn says that a request that was moved has got a token after a pause; 0 if it had none
// before.
func (m *moves) goOn(e *entry, pause time.Duration, out *messages.Outbox) {
	m.continued++
	if pause > 0 {
		m.begun++
		m.longest = max(m.longest, pause)
	}
	m.settle(e, out)
}

// settle says that a request that was moved has got a token or has ended. The last one
// tells operators of all that continued.
func (m *moves) settle(e *entry, out *messages.Outbox) {
	e.moved = false
	if m.open--; m.open > 0 {
		return
	}
	if m.continued > 0 {
		text := "requests have moved"
		if m.continued == 1 {
			text = "request has moved"
		}
		text = fmt.Sprintf("%d %s to another engine or epoch", m.continued, text)
		if m.begun > 0 {
			text += fmt.Sprintf("; the longest pause between two tokens was %v", m.longest.Round(time.Millisecond))
		}
		out.Notes = append(out.Notes, messages.Note{Level: messages.NoteInfo, Text: text, Moved: m.continued, Pause: m.longest})
	}
	*m = moves{}
}
