package former

import (
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

// launchedStep is a step whose results have not been taken.
type launchedStep struct {
	id        messages.StepID
	launched  time.Duration
	retracted bool      // its plan retracted a sequence
	prefilled int       // tokens of prompts that it computes
	work      []rowWork // in the order of RunBatch.Work
	batch     *runBatch
}

// runBatch is the RunBatch of a step with the memory behind it. It is the runner's
// until the step's BatchDone, and used again afterwards.
type runBatch struct {
	messages.RunBatch
	pages []messages.Page // those in the changes of rows
}

// rowWork is one row's work in a step. The sequence keeps its lease until the step is done.
type rowWork struct {
	seq     *sequence
	end     int  // tokens with KV after it, without those that it samples
	prefill bool // of a prompt, or of what was retracted
	sample  int  // the most tokens that it samples
	certain bool // it samples one token, neither none nor several
}

// add gives a row count tokens to compute. A token that is sampled after the last one is
// pending from now on. If several may be sampled, as many as the row's pages hold, or the
// row's mask may be late, it is not known where the row's next work begins, and the row waits.
func (st *launchedStep) add(s *sequence, count int, o *Options) {
	end, capacity := s.scheduled+count, s.lease.Capacity(o.PageSize)
	if end > capacity { // not Check, whose arguments cost allocations per row
		invariants.Fail("request %d computes %d tokens on %d pages", s.req.ID, end, len(s.lease.Pages))
	}
	sample, masked := 0, s.req.Params.Grammar != nil
	if end == s.length() {
		most := o.TokensPerStep
		if masked {
			most = max(most, o.GrammarTokensPerStep)
		}
		sample = min(most, s.ahead(o.ContextLength), capacity-end+1)
	}
	s.lease.Launch(st.id)
	st.batch.Work = append(st.batch.Work, messages.RowWork{Row: s.lease.Row, Start: s.scheduled, Count: count, Sample: sample})
	st.work = append(st.work, rowWork{s, end, s.state == prefilling, sample, sample == 1 && !masked})
	if s.state == prefilling {
		s.prefillStep = st.id
		st.prefilled += count
	}
	s.scheduled = end
	if sample > 0 {
		s.pending++
		s.uncertain = sample > 1 || masked
		s.state = decoding
	}
}

// reset empties a batch for a step and keeps its memory.
func (b *runBatch) reset(step messages.StepID) {
	clear(b.Opened)
	clear(b.Replaced)
	clear(b.Grown)
	b.RunBatch = messages.RunBatch{Step: step, Closed: b.Closed[:0], Opened: b.Opened[:0],
		Replaced: b.Replaced[:0], Grown: b.Grown[:0], Work: b.Work[:0]}
	b.pages = b.pages[:0]
}

// addChanges adds what the device does not have of a sequence's row.
func (b *runBatch) addChanges(s *sequence) {
	if s.opened && s.sentPages == len(s.lease.Pages) && s.staleFrom == s.staleTo || !s.active() {
		return
	}
	row, pages := s.lease.Row, s.lease.Pages
	if !s.opened {
		s.opened = true
		prompt, all := len(s.req.Prompt), len(s.tokens)
		b.Opened = append(b.Opened, messages.RowOpened{
			Row: row, Request: s.req, Output: s.tokens[prompt:all:all], Pages: b.copyPages(pages[:s.sentPages]),
		})
	}
	if s.staleFrom < s.staleTo {
		b.Replaced = append(b.Replaced, messages.RowReplaced{Row: row, First: s.staleFrom, Pages: b.copyPages(pages[s.staleFrom:s.staleTo])})
		s.staleFrom, s.staleTo = 0, 0
	}
	if s.sentPages < len(pages) {
		b.Grown = append(b.Grown, messages.RowGrown{Row: row, Pages: b.copyPages(pages[s.sentPages:])})
		s.sentPages = len(pages)
	}
}

// copyPages copies pages of a lease, which changes in place.
func (b *runBatch) copyPages(pages []messages.Page) []messages.Page {
	from := len(b.pages)
	b.pages = append(b.pages, pages...)
	return b.pages[from:len(b.pages):len(b.pages)]
}
