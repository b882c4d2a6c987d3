package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Interrupts holds what signals call, or nil: the next interrupt, instead of ending the
// command, and the second signal, before it ends the process.
type Interrupts struct {
	stop atomic.Pointer[context.CancelFunc]
	last atomic.Pointer[func()]
}

type interruptsKey struct{}

// WithInterrupts returns a context for CatchInterrupt.
func WithInterrupts(ctx context.Context) (context.Context, *Interrupts) {
	i := &Interrupts{}
	return context.WithValue(ctx, interruptsKey{}, i), i
}

// WithSignals cancels the context at SIGTERM or SIGINT, and ends the process at the
// second one. After CatchInterrupt, until its release, an interrupt only calls the
// given function.
func WithSignals(ctx context.Context) context.Context {
	ctx, caught := WithInterrupts(ctx)
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			switch {
			case s == os.Interrupt && caught.Interrupt():
			case ctx.Err() != nil:
				caught.Last()
				os.Exit(1)
			default:
				cancel()
			}
		}
	}()
	return ctx
}

// Interrupt calls the function and reports whether there was one.
func (i *Interrupts) Interrupt() bool {
	stop := i.stop.Swap(nil)
	if stop != nil {
		(*stop)()
	}
	return stop != nil
}

// Last calls what the process still has to do at its second signal.
func (i *Interrupts) Last() {
	if f := i.last.Load(); f != nil {
		(*f)()
	}
}

// AtSecondSignal makes the second signal call f, which must return soon, before it ends
// the process. release undoes it.
func AtSecondSignal(ctx context.Context, f func()) (release func()) {
	caught, ok := ctx.Value(interruptsKey{}).(*Interrupts)
	if !ok {
		return func() {}
	}
	caught.last.Store(&f)
	return func() { caught.last.Store(nil) }
}

// CatchInterrupt makes the next interrupt call stop. release undoes it.
func CatchInterrupt(ctx context.Context, stop context.CancelFunc) (release func()) {
	caught, ok := ctx.Value(interruptsKey{}).(*Interrupts)
	if !ok {
		return func() {}
	}
	caught.stop.Store(&stop)
	return func() { caught.stop.Store(nil) }
}
