// Package runner is the actor of one device: it hands steps to an Executor and
// never waits for one. The executor's callback carries the outcome to the
// batch former, so that the mailbox stays free while the device computes.
//
//	Receives: RunBatch (batch)
//	Sends:    BatchDone, BatchFailed (batch); FailEpoch (engine) when it panics
//	State:    which request holds which row, to name suspects
//	On failure: stopped with its epoch; the Executor belongs to the process
package runner

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/internal/shell"
	"github.com/troupe-engine/troupe/messages"
)

// Executor computes steps on a device. It outlives the epochs.
type Executor interface {
	// Submit starts a step and returns without waiting. done is called exactly
	// once, from any goroutine, with either a result or an error.
	Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error))
	// Reset forgets every row. No step may be under way.
	Reset()
	// Quiesce calls done once no step is under way.
	Quiesce(done func())
}

// sticky is implemented by errors that know whether the device will work again
// in this process.
type sticky interface{ Sticky() bool }

func isSticky(err error) bool {
	var s sticky
	return errors.As(err, &s) && s.Sticky()
}

// Props makes the actor of one epoch.
func Props(opt shell.Options, executor Executor, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		c := &core{epoch: opt.Epoch, executor: executor, rows: map[messages.Row]messages.RequestID{}}
		return &runner{Actor: shell.New(opt, c), core: c, opt: opt}
	}, more...)
}

// runner completes the generic shell with the way back from the device.
type runner struct {
	*shell.Actor[messages.ToRunner]
	core *core
	opt  shell.Options
}

// Receive implements actor.Actor.
func (r *runner) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		root, batch := ctx.ActorSystem().Root, r.opt.Route(messages.Batch)
		r.core.answer = func(msg messages.ToBatch) { root.Send(batch, msg) }
		return
	}
	r.Actor.Receive(ctx)
}

// core applies row ownership and submits; the work itself is the executor's.
type core struct {
	epoch    messages.Epoch
	executor Executor
	rows     map[messages.Row]messages.RequestID
	answer   func(messages.ToBatch) // safe from any goroutine
}

// Step implements shell.Core.
func (c *core) Step(now time.Duration, msg messages.ToRunner, out *messages.Outbox) {
	batch, ok := msg.(*messages.RunBatch)
	if !ok || batch.Epoch != c.epoch {
		out.Record(messages.StaleMessages, 1)
		return
	}
	for _, row := range batch.Closed {
		delete(c.rows, row)
	}
	for _, o := range batch.Opened {
		c.rows[o.Row] = o.Request.ID
	}
	answer, epoch, step := c.answer, c.epoch, batch.Step
	c.executor.Submit(batch, func(done *messages.BatchDone, err error) {
		if err != nil {
			answer(&messages.BatchFailed{Epoch: epoch, Step: step, Reason: err.Error(), Sticky: isSticky(err)})
			return
		}
		answer(done)
	})
}

// Suspects names the requests that work in the step.
func (c *core) Suspects(msg messages.ToRunner) []messages.RequestID {
	batch, ok := msg.(*messages.RunBatch)
	if !ok {
		return nil
	}
	var ids []messages.RequestID
	for _, w := range batch.Work {
		if id, ok := c.rows[w.Row]; ok {
			ids = append(ids, id)
			continue
		}
		for _, o := range batch.Opened {
			if o.Row == w.Row {
				ids = append(ids, o.Request.ID)
			}
		}
	}
	return ids
}
