package cluster

import (
	"io"
	"log/slog"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-engine/troupe/testkit/racedetector"
)

func quiet(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// several skips a test that starts several transports where the race detector runs. Each
// start of the runtime's remote replaces the logger of grpc, while grpc reads it. A process
// has one, and testkit/clustertest runs processes with the race detector.
func several(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("starting several remotes in one process is a race of the runtime")
	}
}
