package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/actors/shell"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/telemetry"
)

// runtimeLog copies the actor runtime's log lines to ours. Its dead letters contain
// whole messages with prompts: only their types are kept.
func runtimeLog(log zerolog.Logger) func(*actor.ActorSystem) *slog.Logger {
	return func(*actor.ActorSystem) *slog.Logger {
		return slog.New(bridge{log.With().Str("from", "actor runtime").Logger()})
	}
}

type bridge struct{ log zerolog.Logger }

var levels = map[slog.Level]zerolog.Level{
	slog.LevelDebug: zerolog.DebugLevel,
	// The runtime's Info lines matter to its own developers only.
	slog.LevelInfo: zerolog.DebugLevel, slog.LevelWarn: zerolog.WarnLevel, slog.LevelError: zerolog.ErrorLevel,
}

func (b bridge) Enabled(_ context.Context, level slog.Level) bool {
	e := b.log.WithLevel(levels[level])
	e.Discard()
	return e != nil
}

func (b bridge) Handle(_ context.Context, r slog.Record) error {
	level := levels[r.Level]
	if strings.HasPrefix(r.Message, "Endpoint") { // connections between nodes: the cluster's events tell what it means
		level = zerolog.DebugLevel
	}
	event := b.log.WithLevel(level)
	r.Attrs(func(a slog.Attr) bool {
		event = attribute(event, a)
		return true
	})
	event.Msg(r.Message)
	return nil
}

func (b bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := b.log.With()
	for _, a := range attrs {
		c = c.Str("runtime_"+a.Key, a.Value.String())
	}
	return bridge{c.Logger()}
}

// WithGroup implements slog.Handler; the runtime uses no groups.
func (b bridge) WithGroup(string) slog.Handler { return b }

// attribute keeps plain values, and of everything else the type. The value of a
// panic can be anything; it is formatted as in actors/shell.
func attribute(event *zerolog.Event, a slog.Attr) *zerolog.Event {
	key := "runtime_" + a.Key
	if a.Key == "reason" || a.Key == "exception" {
		return event.Str(key, shell.Fault(a.Value.Any()))
	}
	switch v := a.Value.Any().(type) {
	case error:
		return event.Str(key, v.Error())
	case *actor.PID:
		return event.Str(key, v.GetId())
	case string, int64, uint64, bool, float64:
		return event.Interface(key, v)
	default:
		return event.Str(key, fmt.Sprintf("%T", v))
	}
}

func SetLogLevel(level *telemetry.LogLevel, c *configs.Config) {
	if l, err := zerolog.ParseLevel(c.LogLevel); err == nil { // configs has checked it
		level.Set(l)
	}
}
