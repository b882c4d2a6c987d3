package former

import (
	"slices"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// Audits of intake go first, one at a time; the batch former's own
// follow a step, if every step is audited, and the last request.
func TestAuditsAreDueInOrder(t *testing.T) {
	o := options(func(o *Options) { o.AuditEveryStep = true })
	a := admin{opt: &o, stepped: true, changed: true}
	a.audits = []*messages.AuditSlots{{Ticket: 4}, {Ticket: 5}}
	var got []messages.Ticket
	for a.auditDue(false) {
		got = append(got, a.current.Ticket)
		if a.auditDue(true) {
			t.Fatal("two audits are out")
		}
		a.out = false
	}
	if want := []messages.Ticket{4, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("audits %v, want %v", got, want)
	}
	if a.auditDue(true) {
		t.Error("idle, all is audited again although nothing has changed")
	}
	if a.changed = true; !a.auditDue(true) {
		t.Error("idle, what has changed is not audited")
	}
}
