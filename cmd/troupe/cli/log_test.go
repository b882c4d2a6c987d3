package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/cmd/troupe/node"
)

// hostile has every kind of control character that the filter removes.
const hostile = "a\x1b[2J\u009b31m\u0085\u202eb\u2066\u061c\u200f\u2028\nforged\r\x7f\x1b[31mred"

var steering = regexp.MustCompile("[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

// coloured are the sequences that zerolog writes itself.
var coloured = regexp.MustCompile("\x1b\\[[0-9]+m")

// No path, panic or library message controls the terminal, in any format; the log's
// own colours stay.
func TestLogLinesSteerNoTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for name, c := range map[string]struct{ text, colours bool }{
		"JSON": {}, "text": {text: true}, "text with colours": {text: true, colours: true},
	} {
		var out bytes.Buffer
		log := newLog(&out, c.text, c.colours)
		say := []func(){
			func() { log.Info().Str("path", hostile).Msg("a value") }, func() { log.Error().Err(errors.New(hostile)).Msg("an error") },
			func() { log.Warn().Msg(hostile) }, func() {
				log.Info().Strs("list", []string{hostile}).Interface("object", map[string]any{hostile: hostile}).Msg("nested")
			},
			func() { log.Info().Str("stack", "goroutine 1\n\tmain.go:7\n").Msg("lines") }, func() { log.Info().Str("name", "modèle 模型").Msg("plain") },
			func() {
				l := log.With().Str("from", hostile).Logger()
				l.WithLevel(zerolog.DebugLevel).Msg("a library")
			},
		}
		for _, f := range say {
			f()
		}
		got := out.String()
		if n := strings.Count(got, "\n"); n != len(say) || !strings.HasSuffix(got, "\n") {
			t.Errorf("%s: %d lines of %d:\n%q", name, n, len(say), got)
		}
		if c.colours && len(coloured.FindAllString(got, -1)) < 2*len(say) {
			t.Errorf("%s: the colours are gone:\n%q", name, got)
		}
		if strings.Contains(got, "\x1b[31mred") || strings.Contains(got, "\x1b[2J") {
			t.Errorf("%s: a sequence of the text itself is left:\n%q", name, got)
		}
		if c.colours {
			got = coloured.ReplaceAllString(got, "")
		}
		if found := steering.FindAllString(got, -1); len(found) > 0 {
			t.Errorf("%s: %q are left in\n%q", name, found, got)
		}
		if !strings.Contains(got, "模型") || !strings.Contains(got, `\u202e`) {
			t.Errorf("%s: text is lost:\n%q", name, got)
		}
		if !c.text {
			var first map[string]string
			if err := json.Unmarshal([]byte(got[:strings.Index(got, "\n")]), &first); err != nil || first["path"] != hostile {
				t.Errorf("%s: reads as %q: %v", name, first["path"], err)
			}
		}
	}
}

// A person reads amounts with units; a program reads plain numbers.
func TestUnitsInLogs(t *testing.T) {
	for text, want := range map[bool]string{
		true:  "memory: 96.0 MiB for the KV pool, which holds 65 536 tokens of at most 64 running requests (limited by max-running-requests); 3.7 MiB for weights, 4.8 MiB for workspace; 22.97 GiB was available.",
		false: `"kv_pool_bytes":100663296`,
	} {
		var out bytes.Buffer
		log := newLog(&out, text, false)
		log.Info().Int64("kv_pool_bytes", 96<<20).Int("tokens", 65536).Int("max_running_requests", 64).Str("bound", "max-running-requests").
			Int64("weights_bytes", 3892992).Int64("workspace_bytes", 5013504).Int64("available_bytes", 24664000000).Msg(node.MemoryPlanMessage)
		log.Info().Dur("took_ms", 27417807*time.Nanosecond).Int64("done_bytes", 3<<30).Int("steps", 7).Msg("something")
		line := out.String()
		if !strings.Contains(line, want) {
			t.Errorf("%s lacks %s", line, want)
		}
		if text && (!strings.Contains(line, "took=27.42ms") || !strings.Contains(line, "done=\"3.00 GiB\"") || !strings.Contains(line, "steps=7")) {
			t.Errorf("the units are missing: %s", line)
		}
	}
}
