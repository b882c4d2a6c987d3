package node

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/engine"
	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// A start that fails before the first epoch stops everything that it has started.
func TestAnEndedStartLeavesNothing(t *testing.T) {
	failure := errors.New("the device is gone")
	for name, c := range map[string]struct {
		end  func(cancel func(), spec *engine.Spec)
		want error
	}{
		"cancelled":     {func(cancel func(), _ *engine.Spec) { cancel() }, context.Canceled},
		"given up":      {func(_ func(), spec *engine.Spec) { spec.OnFatal(failure) }, failure},
		"both, at once": {func(cancel func(), spec *engine.Spec) { cancel(); spec.OnFatal(context.Canceled) }, context.Canceled},
	} {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		n, err := Open(ctx, Options{Config: settings(t), Log: zerolog.Nop(), Engine: func(spec *engine.Spec) {
			spec.Members[0].OnEpoch = func(messages.Epoch) {
				c.end(cancel, spec)
				panic("no epoch has started")
			}
		}})
		cancel()
		if n != nil || err == nil || err.Error() != c.want.Error() {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		deadline := time.After(20 * time.Second)
		for tick := time.Tick(time.Millisecond); runtime.NumGoroutine() > before; {
			select {
			case <-tick:
			case <-deadline:
				t.Fatalf("%s: %d goroutines, %d before", name, runtime.NumGoroutine(), before)
			}
		}
	}
}

// loud is a device that never finishes a step.
type loud struct{ runner.Executor }

func (loud) Quiesce(func()) {}

// A process that ends does not wait for such a device and does not close its model,
// which may still compute.
func TestADeviceThatIsNeverQuietKeepsNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n, err := Open(ctx, Options{Config: settings(t), Log: zerolog.Nop(), Engine: func(spec *engine.Spec) { spec.Members[0].Executor = loud{spec.Members[0].Executor} }})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := n.closeWithin(ctx, 50*time.Millisecond); !errors.Is(err, errNotQuiet) {
		t.Errorf("%v", err)
	}
	if n.Model.Bytes()["weights"] == 0 {
		t.Error("the model is closed")
	}
	if err := errors.Join(n.Model.Close(), n.Checkpoint.Close()); err != nil {
		t.Error(err)
	}
}

// ofDevice is an error of a device.
type ofDevice struct{ error }

func (ofDevice) OfDevice() bool { return true }

// An error of the device is not one of the settings that choose the model.
func TestAboutModel(t *testing.T) {
	c := settings(t)
	lost, damaged := fmt.Errorf("cannot load: %w", ofDevice{errors.New("lost")}), errors.New("damaged")
	if AboutModel(lost, c) != lost {
		t.Error("an error of the device is about settings")
	}
	if got := AboutModel(damaged, c); got == damaged || !errors.Is(got, damaged) {
		t.Errorf("an error of the model's files: %v", got)
	}
}
