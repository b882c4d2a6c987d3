package request

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

type CoreOptions struct {
	Detokenizer Detokenizer
	Sink        Sink // nil means Channels
}

// change is what one token, or an end without a token, changes in an entry. It is
// computed before anything is committed.
type change struct {
	e        *entry
	hasToken bool
	token    int32
	logprobs *messages.PositionLogprobs
	text     stopStep           // with the text that the token completes
	end      messages.EndReason // 0: goes on
	why      string             // from EndFailed on
}

// over reports whether the output ends with this change.
func (ch *change) over() bool { return ch.end != 0 || ch.text.matched >= 0 }

// Core is one incarnation of intake. The table survives it.
type Core struct {
	table *Table
	detok Detokenizer
	sink  Sink

	// Scratch of one call of Handle, reused.
	changes   []change
	fresh     []*entry             // to be submitted to the engine, unless they end before
	cancelled []messages.RequestID // to be released by the engine
	current   *entry               // whose change is being computed
	openSeen  int                  // the last RequestsOpen reading, -1: none
	waitSeen  time.Duration        // the last QueueWait reading, -1: none

	// due are the times of the pending timers for deadlines, the earliest one last.
	// Each incarnation sets its own; timers of an earlier one do no harm.
	due     []time.Duration
	settled bool // no deadline is before the next timer; a timer that fires changes that
}

// NewCore makes a core over a table that no other core uses.
func NewCore(table *Table, opt CoreOptions) *Core {
	if opt.Sink == nil {
		opt.Sink = Channels{}
	}
	return &Core{table: table, detok: opt.Detokenizer, sink: opt.Sink, openSeen: -1, waitSeen: -1}
}

// failEpoch asks for a new epoch because the engine's messages are inconsistent.
// Further results of this epoch are ignored, so no request can lose or repeat a token.
func (c *Core) failEpoch(out *messages.Outbox, format string, args ...any) {
	c.table.engine.failed = true
	out.ToSupervisor(&messages.FailEpoch{Header: c.table.engine.header, From: messages.Intake, Cause: fmt.Sprintf(format, args...)})
}
