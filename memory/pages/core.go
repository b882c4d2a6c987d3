package pages

import (
	"fmt"
	"time"

	"github.com/troupe-engine/troupe/internal/invariants"
	"github.com/troupe-engine/troupe/messages"
)

type Options struct {
	Pages int // usable pages of the pool, without page 0
	// Contiguous (contiguous-kv) gives each reservation consecutive pages if a long enough
	// run is free. Off, pages are first in, first out.
	Contiguous bool
}

// Core is the allocator's actor core: the free pages of one epoch. It is the last
// to handle a plan or an audit, and answers the batch former.
type Core struct {
	contiguous bool
	pages      *Allocator

	// The answer to a plan and the pages in it. Their memory is reused: the batch
	// former has copied the pages before it sends the next plan.
	reply   messages.PagesReserved
	granted []messages.Page
}

// New returns a core with all pages free.
func New(opts Options) *Core {
	return &Core{contiguous: opts.Contiguous, pages: NewAllocator(opts.Pages)}
}

func (c *Core) Free() int { return c.pages.Free() }

func (c *Core) Handle(_ time.Duration, msg messages.ToAllocator, out *messages.Outbox) {
	switch m := msg.(type) {
	case *messages.ReservePages:
		c.reservePages(m, out)
	case *messages.AuditSlots:
		audit := *m
		audit.Count.Free += c.pages.Free()
		audit.Count.Total = c.pages.Total()
		if audit.Snapshot != nil {
			c.pages.claim(audit.Snapshot)
		}
		out.ToFormer(&audit)
	default:
		invariants.Fail("the allocator got a %T", msg)
	}
}

// reservePages frees, then reserves for every request or for none.
func (c *Core) reservePages(m *messages.ReservePages, out *messages.Outbox) {
	before := c.pages.Free()
	c.pages.Release(m.Frees)
	c.pages.ReleaseRuns(m.Evicted)
	wanted := 0
	for _, r := range m.Reserves {
		if r.Pages < 1 {
			invariants.Fail("request %d reserves %d pages", r.ID, r.Pages)
		}
		wanted += r.Pages
	}
	free := c.pages.Free()
	granted, ok := c.take(m.Reserves, wanted, c.granted[:0])
	out.Record(messages.PagesFree, float64(c.pages.Free()))
	out.Record(messages.Pages, float64(c.pages.Total()))
	if !ok {
		out.ToFormer(&messages.PagesRefused{
			Plan: m.Plan, Wanted: wanted, Free: free,
			Reason: fmt.Sprintf("plan %d requires %d pages, but only %d are free (%d of them freed by this plan)", m.Plan, wanted, free, free-before),
		})
		return
	}
	c.granted = granted
	c.reply = messages.PagesReserved{
		Plan:     m.Plan,
		Inserted: m.Inserted, Cached: m.Cached, Free: c.pages.Free(),
		Granted: c.reply.Granted[:0],
	}
	for _, r := range m.Reserves {
		// Parts of one array, capacity cut: appending to one never reaches the next.
		c.reply.Granted = append(c.reply.Granted, messages.PagesGranted{ID: r.ID, Pages: granted[:r.Pages:r.Pages]})
		granted = granted[r.Pages:]
	}
	out.ToFormer(&c.reply)
}

// take allocates for all reservations, wanted pages in all, or for none.
func (c *Core) take(reserves []messages.PageReserve, wanted int, into []messages.Page) ([]messages.Page, bool) {
	if !c.contiguous || wanted > c.pages.Free() {
		return c.pages.Alloc(wanted, into)
	}
	for _, r := range reserves {
		pages, ok := c.pages.AllocContiguous(r.Pages, into)
		if !ok {
			pages, _ = c.pages.Alloc(r.Pages, into)
		}
		into = pages
	}
	return into, true
}
