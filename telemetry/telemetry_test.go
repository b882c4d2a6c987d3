package telemetry

import (
	"bytes"
	"math"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/messages"
)

// Every metric of the vocabulary has one row, and there are no other rows.
func TestTableMatchesTheVocabulary(t *testing.T) {
	source, err := os.ReadFile("../messages/metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile("Metric += [\"`](.+)[\"`]").FindAllStringSubmatch(string(source), -1) {
		declared[m[1]] = true
	}
	if len(declared) < 30 {
		t.Fatalf("only %d metrics found; the scan is broken", len(declared))
	}
	for _, r := range rows {
		if !declared[string(r.name)] {
			t.Errorf("%s is listed twice or not declared in messages", r.name)
		}
		delete(declared, string(r.name))
	}
	for name := range declared {
		t.Errorf("%s has no row", name)
	}
}

func TestReadingsComeOut(t *testing.T) {
	var logged bytes.Buffer
	m := New("tiny", 1, zerolog.New(&logged))
	m.Record(messages.Steps, 2)
	m.Record(messages.Steps, 3)
	m.Record(messages.ReloadsRefused, 1)
	m.Record(messages.PagesFree, 7)
	m.Record(messages.PagesFree, 6)
	m.Record(messages.TimeToFirstToken, .3)
	m.Record("no_such_metric", 1)
	m.Record("no_such_metric", 1)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`troupe_num_steps_total{model_name="tiny"} 5`, `troupe_kv_pages_free{model_name="tiny"} 6`,
		`troupe_config_reloads_total{model_name="tiny",result="refused"} 1`, `troupe_config_reloads_total{model_name="tiny",result="applied"} 0`,
		`troupe_time_to_first_token_seconds_bucket{model_name="tiny",le="0.5"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if v := m.Values(); v["num_steps_total"] != 5 || v["kv_pages_free"] != 6 || v["kv_pages"] != 0 {
		t.Errorf("values %v", v)
	}
	if n := strings.Count(logged.String(), "no_such_metric"); n != 1 {
		t.Errorf("an unknown metric was reported %d times", n)
	}
}

// Readings of several engines are added up, shares are averaged. Recording allocates
// nothing.
func TestEnginesAreAddedUp(t *testing.T) {
	m := New("tiny", 3, zerolog.Nop())
	for i := range 3 {
		e := m.Engine(i)
		e.Record(messages.RequestsRunning, float64(i+1))
		e.Record(messages.TokenUsage, 0.3*float64(i))
		e.Record(messages.Steps, 2)
	}
	m.Engine(1).Record(messages.RequestsRunning, 5) // instead of 2
	for metric, want := range map[messages.Metric]float64{messages.RequestsRunning: 9, messages.TokenUsage: 0.3, messages.Steps: 6} {
		if got := m.Value(metric); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	e := m.Engine(2)
	if n := testing.AllocsPerRun(100, func() {
		e.Record(messages.RequestsRunning, 1)
		e.Record(messages.Steps, 1)
	}); n > 0 {
		t.Errorf("recording allocates %v times", n)
	}
}
