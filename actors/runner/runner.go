// Package runner is the actor of one device: it hands steps to an Executor and
// never waits for them. The executor's callback sends the result to the batch
// former, so that the mailbox stays free while the device computes.
//
// A second step may arrive while one runs. The executor gets it at once and computes it
// after the first one, so it may use the tokens that the first one samples.
//
// A watchdog ends the epoch when a step takes too long, because no other actor would
// notice a device that hangs. It cannot end the step: the supervisor waits until the
// device is idle, and gives up if that takes too long.
//
//	Receives: RunBatch (former): a step; WatchdogDue (itself): its timer
//	Sends:    BatchDone, BatchFailed, MaskReady (former): the step's end, the mask of a late row; sent by the executor's callbacks;
//	          WatchdogDue (itself); FailEpoch (supervisor): it panics, or a step is overdue
//	State:    which request holds which row, to name suspects; which step runs, and when it started
//	On failure: stopped with its epoch; the Executor belongs to the process
package runner

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/messages"
)

// Executor computes steps on a device. It outlives the epochs.
type Executor interface {
	// Submit starts a step and returns without waiting. Steps are computed in order; two
	// may be in flight. done is called exactly once, from any goroutine, in that order,
	// with either a result or an error; after an error every step fails until Reset. The
	// batch belongs to the executor until it calls done; the result belongs to the batch
	// former until the step after the next is submitted.
	Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error))
	// Reset forgets every row. The runner calls it first, with no step in flight. ready is
	// called for each late row of this epoch once its mask is made, after the done that
	// reported it, from any goroutine.
	Reset(ready func(messages.RequestID))
	// Quiesce calls done once no step is in flight.
	Quiesce(done func())
}

// sticky is an error that knows whether the device will work again in this process.
type sticky interface {
	error
	Sticky() bool
}

func isSticky(err error) bool {
	s, ok := errors.AsType[sticky](err)
	return ok && s.Sticky()
}

// Props makes an epoch's actor. A step that takes watchdogTimeout ends it; 0: no limit.
func Props(opt shell.Options, executor Executor, watchdogTimeout time.Duration, more ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		c := &core{executor: executor, clock: opt.Clock, rows: map[messages.Row]messages.RequestID{}, watchdog: watchdog{timeout: watchdogTimeout}}
		return &runner{Actor: shell.New(opt, c), core: c, opt: opt}
	}, more...)
}

// runner is a shell with the way back from the device.
type runner struct {
	*shell.Actor[messages.ToRunner]
	core *core
	opt  shell.Options
}

func (r *runner) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		root, former := ctx.ActorSystem().Root, r.opt.Route(messages.Former, r.opt.Own)
		r.core.answer = func(msg messages.ToFormer) { root.Send(former, msg) }
		// The last epoch may have left rows open.
		r.core.executor.Reset(func(id messages.RequestID) { r.core.answer(&messages.MaskReady{Header: r.opt.Own, ID: id}) })
		return
	}
	r.Actor.Receive(ctx)
}
