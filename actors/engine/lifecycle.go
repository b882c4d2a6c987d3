package engine

import (
	"cmp"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// Backoff is the pause between two epochs. Zero fields mean the defaults.
type Backoff struct {
	Base    time.Duration // pause after the first failure, doubled by each in a row. Default 10ms
	Cap     time.Duration // longest pause. Default 5s
	Quiesce time.Duration // for the device to become idle; then the process ends. Default 60s
}

func (b Backoff) withDefaults() Backoff {
	return Backoff{
		Base: cmp.Or(b.Base, 10*time.Millisecond), Cap: cmp.Or(b.Cap, 5*time.Second),
		Quiesce: cmp.Or(b.Quiesce, 60*time.Second),
	}
}

// healthy is how long an epoch must run until its failure counts as the first one again.
const healthy = 10 * time.Second

// phase is where an engine is between two epochs.
type phase uint8

const (
	pausing   phase = iota // no actors; EpochDue starts the next epoch
	running                // the epoch's actors run
	stopping               // waiting for the last of them to stop
	quiescing              // waiting for the device
	dead                   // given up; the process ends
)

// childrenStopped is the event that no actor of the epoch is left.
type childrenStopped struct{ epoch messages.Epoch }

// effects are what the supervisor must do, besides sending messages.
type effects struct {
	start   bool   // spawn the actors of the epoch
	stop    bool   // stop them all
	quiesce bool   // wait until the device is idle
	fatal   string // end the process for this reason
}

// lifecycle is the pure core of the supervisor.
//
//  1. At most one epoch's actors exist at any time.
//  2. The next epoch starts only after every actor of the last one has stopped and
//     then the device was idle: a late step could write into pages of the next epoch.
//  3. Intake gets EpochEnded and EpochStarted in turn, each once per epoch.
type lifecycle struct {
	opt      Backoff
	phase    phase
	engine   messages.EngineID
	epoch    messages.Epoch
	started  time.Duration
	failures int // in a row
	cause    string
	suspects []messages.RequestID
	sticky   bool
	planned  bool // an operator has asked for the end of the epoch
	held     bool // an operator wants no further epoch
	token    bool // the epoch has computed one; set by the supervisor
	barren   int  // epochs in a row that have failed without a token
}

func (l *lifecycle) header() messages.Header {
	return messages.Header{Engine: l.engine, Epoch: l.epoch}
}

// step takes one event: a messages.ToSupervisor or childrenStopped.
func (l *lifecycle) step(now time.Duration, event any, out *messages.Outbox) (do effects) {
	switch e := event.(type) {
	case *messages.EpochDue:
		if l.phase != pausing || e.Epoch != l.epoch || l.held {
			return do
		}
		l.epoch++
		l.phase, l.started = running, now
		do.start = true
		out.Record(messages.EpochsStarted, 1)
		out.Record(messages.Ready, 1)
		out.ToIntake(&messages.EpochStarted{Header: l.header()})
	case *messages.FailEpoch:
		return l.fail(now, e, out)
	case *messages.StartEpochs:
		if l.held {
			l.held = false
			return l.step(now, &messages.EpochDue{Header: l.header()}, out)
		}
	case childrenStopped:
		if l.phase != stopping || e.epoch != l.epoch {
			return do
		}
		if l.sticky {
			l.phase = dead
			do.fatal = "the device has failed for good: " + l.cause
			return do
		}
		l.phase = quiescing
		do.quiesce = true
		out.After(l.opt.Quiesce, &messages.QuiesceDue{Header: l.header()})
	case *messages.DeviceQuiesced:
		if l.phase != quiescing || e.Epoch != l.epoch {
			return do
		}
		l.phase = pausing
		out.ToIntake(&messages.EpochEnded{Header: l.header(), Cause: l.cause, Suspects: l.suspects})
		if !l.held {
			out.After(l.pause(), &messages.EpochDue{Header: l.header()})
		}
	case *messages.QuiesceDue:
		if l.phase != quiescing || e.Epoch != l.epoch {
			return do
		}
		l.phase = dead
		do.fatal = "the device did not become idle within " + l.opt.Quiesce.String() + " after the failure (restart the server): " + l.cause
	}
	return do
}

// fail ends the epoch at the first report; later ones are consequences. Epoch 0: the current one.
func (l *lifecycle) fail(now time.Duration, e *messages.FailEpoch, out *messages.Outbox) (do effects) {
	if e.Epoch != 0 && e.Epoch != l.epoch {
		out.Record(messages.StaleMessages, 1)
		return do
	}
	if l.phase == stopping && e.Sticky {
		l.sticky = true
	}
	l.held = l.held || e.Hold
	if l.phase == pausing && e.Planned { // the operator does not wait for the pause
		return l.step(now, &messages.EpochDue{Header: l.header()}, out)
	}
	if l.phase != running {
		return do
	}
	if now-l.started >= healthy {
		l.failures = 0
	}
	if l.planned = e.Planned; !l.planned {
		l.failures++
		l.barren++
	}
	if l.token {
		l.barren = 0
	}
	l.phase = stopping
	l.cause, l.suspects, l.sticky = e.Cause, e.Suspects, e.Sticky
	out.Record(messages.Ready, 0)
	do.stop = true
	return do
}

// pause is Base, doubled for every failure in a row after the first. There is none if an
// operator has asked for the restart.
func (l *lifecycle) pause() time.Duration {
	if l.planned {
		return 0
	}
	d := l.opt.Base
	for i := 1; i < l.failures && d < l.opt.Cap; i++ {
		d *= 2
	}
	return min(d, l.opt.Cap)
}
