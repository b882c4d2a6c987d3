package node

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
)

// The actor runtime logs whole messages and the values of panics.
func TestTheRuntimeQuotesNoClient(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(bridge{zerolog.New(&out)})
	const secret = "my secret"
	type message struct{ Prompt string }
	log.Error("[ACTOR] Recovering", slog.Any("self", actor.NewPID("local", "batch-1")), slog.Any("reason", secret), slog.Any("exception", errors.New(secret)),
		slog.Any("message", &message{secret}))
	log.Error("[SUPERVISION]", slog.Any("reason", struct{ s string }{secret}))
	if got := out.String(); strings.Contains(got, secret) || !strings.Contains(got, "batch-1") || !strings.Contains(got, "a value of type string") || !strings.Contains(got, "*node.message") {
		t.Error(got)
	}
}
