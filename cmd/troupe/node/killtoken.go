package node

import (
	"os"
	"slices"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/runner"
	"github.com/troupe-engine/troupe/messages"
)

// deadly is an Executor that ends its process at a request whose prompt contains a token
// (debug-kill-token), as a request does that makes a driver or the kernel kill it.
type deadly struct {
	runner.Executor
	token int32
	log   zerolog.Logger
	exit  func(status int)
}

// killedStatus is the exit status of a process that kill -9 has ended.
const killedStatus = 137

// withKillToken returns e if token is 0.
func withKillToken(e runner.Executor, token int, log zerolog.Logger) runner.Executor {
	if token == 0 {
		return e
	}
	return &deadly{e, int32(token), log, os.Exit}
}

// Submit implements runner.Executor. The process ends once the step is computed, before
// anybody learns of it: a real fault takes a moment, too.
func (d *deadly) Submit(batch *messages.RunBatch, done func(*messages.BatchDone, error)) {
	for _, o := range batch.Opened {
		if slices.Contains(o.Request.Prompt, d.token) {
			done = func(*messages.BatchDone, error) {
				d.log.Warn().Int32("token", d.token).Msg("a prompt contains debug-kill-token; the process ends")
				d.exit(killedStatus)
			}
		}
	}
	d.Executor.Submit(batch, done)
}
