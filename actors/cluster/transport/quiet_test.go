package transport

import (
	"io"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

func quiet(*actor.ActorSystem) *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
