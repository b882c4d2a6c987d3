package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/messages"
)

// An answer names the numerics that computed it, not those of the model now.
func TestAnswersNameTheirEngine(t *testing.T) {
	one, two := SystemFingerprint("numerics 1"), SystemFingerprint("numerics 2")
	for name, c := range map[string]struct {
		engines []string // of the choices
		want    string
	}{
		"one engine":           {[]string{"numerics 1"}, one},
		"a process of its own": {[]string{""}, "fp_own"},
		"two choices":          {[]string{"numerics 1", "numerics 1"}, one},
		"different engines":    {[]string{"numerics 2", "numerics 1", "numerics 2"}, min(one, two) + "," + max(one, two)},
		"one without output":   {[]string{"", "numerics 2"}, two},
	} {
		play := func(m *messages.SubmitRequests) {
			for i, engine := range c.engines {
				m.Events <- &messages.CallOutput{Call: m.Call, Index: i, Text: "x", Fingerprint: engine, Finish: ended}
			}
		}
		body := fmt.Sprintf(`{"prompt": "a", "n": %d`, len(c.engines))
		var whole struct {
			Fingerprint string `json:"system_fingerprint"`
		}
		w := streaming(t, body+"}", play)
		if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || whole.Fingerprint != c.want {
			t.Errorf("%s: the answer has %q, want %q", name, whole.Fingerprint, c.want)
		}
		// Each event has the one of its choice.
		w = streaming(t, body+`, "stream": true}`, play)
		seen := 0
		for line := range strings.Lines(w.Body.String()) {
			var event struct {
				Fingerprint string `json:"system_fingerprint"`
				Choices     []struct{ Index int }
			}
			if text, ok := strings.CutPrefix(line, "data: {"); !ok || json.Unmarshal([]byte("{"+text), &event) != nil {
				continue
			}
			seen++
			want := "fp_own"
			if engine := c.engines[event.Choices[0].Index]; engine != "" {
				want = SystemFingerprint(engine)
			}
			if event.Fingerprint != want {
				t.Errorf("%s: an event of choice %d has %q, want %q", name, event.Choices[0].Index, event.Fingerprint, want)
			}
		}
		if seen != len(c.engines) {
			t.Errorf("%s: %d events", name, seen)
		}
	}
}
