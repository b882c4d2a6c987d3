package telemetry

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// A change of the level affects loggers that were derived before it.
func TestLogLevel(t *testing.T) {
	var out bytes.Buffer
	var level LogLevel
	log := zerolog.New(&out).Sample(&level).With().Str("a", "b").Logger()
	for _, c := range []struct {
		level zerolog.Level
		want  string
	}{{zerolog.DebugLevel, "debug info warn error"}, {zerolog.InfoLevel, "info warn error"}, {zerolog.WarnLevel, "warn error"}, {zerolog.ErrorLevel, "error"}, {zerolog.DebugLevel, "debug info warn error"}} {
		out.Reset()
		level.Set(c.level)
		var written []string
		for _, l := range []zerolog.Level{zerolog.DebugLevel, zerolog.InfoLevel, zerolog.WarnLevel, zerolog.ErrorLevel} {
			before := out.Len()
			log.WithLevel(l).Msg("line")
			if enabled := log.WithLevel(l) != nil; enabled != (out.Len() > before) {
				t.Errorf("%s at %s: enabled %v, written %v", l, c.level, enabled, out.Len() > before)
			}
			if out.Len() > before {
				written = append(written, l.String())
			}
		}
		if got := strings.Join(written, " "); got != c.want {
			t.Errorf("at %s: %q, want %q", c.level, got, c.want)
		}
	}
}
