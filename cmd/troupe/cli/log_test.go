package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"
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
