package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/testkit/locked"
)

// Lines of one engine name it if there are several.
func TestTheLogNamesTheEngine(t *testing.T) {
	for engines, want := range map[int][]string{
		1: {`{"level":"info","epoch":1,"message":"the engine is ready"}`},
		2: {`{"level":"info","engine":0,"epoch":1,"message":"the engine is ready"}`, `{"level":"info","engine":1,"epoch":1,"message":"the engine is ready"}`},
	} {
		log, s := &locked.Buffer{}, plain
		s.engines = engines
		start(t, s, func(spec *Spec) { spec.Log = zerolog.New(log) }).stop()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if slices.Sort(lines); !slices.Equal(lines, want) {
			t.Errorf("%d engines: %q, want %q", engines, lines, want)
		}
	}
}
