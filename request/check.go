package request

import (
	"maps"

	"github.com/troupe-engine/troupe/internal/invariants"
)

// check verifies the invariants, in tests and with the build tag invariants.
func (t *Table) check() {
	queued, running, output := 0, 0, 0
	waiting := backlog{classes: map[class]int{}}
	for id, e := range t.entries {
		invariants.Check(e.id == id, "entry %d is stored under %d", e.id, id)
		invariants.Check(e.place != placeEngine || t.engine.up, "request %d is in an engine that is down", id)
		invariants.Check(e.finish == nil || e.place == placeEngine || !e.delivered && !e.call.disconnected, "request %d is finished but still in the table", id)
		invariants.Check(e.finish != nil || e.place != placeNone, "request %d was released but has not ended", id)
		invariants.Check(!e.queued || e.finish == nil && len(e.output) == 0, "request %d is queued although it has output or an end", id)
		if e.queued {
			queued += len(e.sub.Prompt)
		}
		if e.waits {
			waiting.change(e, t.opt.classOf(&e.sub), 1)
		}
		if e.runs {
			running++
			output += len(e.output)
		}
		invariants.Check(!e.waits || e.queued, "request %d waits with output", id)
		invariants.Check((e.waits || e.runs) == (e.finish == nil), "request %d waits: %t, runs: %t, has ended: %t", id, e.waits, e.runs, e.finish != nil)
		if !e.call.disconnected && !e.delivered {
			invariants.Check(t.calls[e.call.id] == e.call, "call %d of request %d is not open", e.call.id, id)
		}
	}
	invariants.Check(queued == t.queuedTokens, "%d tokens are queued, but %d are counted", queued, t.queuedTokens)
	b := t.backlog
	same := maps.Equal(waiting.classes, b.classes)
	waiting.classes, b.classes = nil, nil
	invariants.Check(same && waiting.requests == b.requests && waiting.prompts == b.prompts && waiting.outputs == b.outputs &&
		waiting.fixed == b.fixed && waiting.fixedOutputs == b.fixedOutputs,
		"the backlog is %+v, want %+v, with the same classes: %t", b, waiting, same)
	invariants.Check(running == t.running && output == t.output, "%d requests run with %d tokens, but %d with %d are counted", running, output, t.running, t.output)
	invariants.Check(t.turnover == 0 || b.requests > 0, "the turnover is %d without a backlog", t.turnover)
}
