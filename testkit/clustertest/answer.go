package clustertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Answer is what of an answer must be equal, wherever it was computed, as canonical JSON:
// texts, tokens, log probabilities, reasons and usage, without ids, times and what the
// prefix cache had.
type Answer string

// left are the keys of answers that may differ.
var left = map[string]bool{"id": true, "created": true, "cached_tokens": true, "prompt_tokens_details": true, "system_fingerprint": true, "e2e_latency": true, "model": true, "object": true}

// decode reads JSON and keeps numbers as they are written.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// clean removes what may differ.
func clean(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if left[k] {
				delete(v, k)
			} else {
				v[k] = clean(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	}
	return v
}

// whole is the answer in one piece.
func whole(text []byte) (Answer, error) {
	v, err := decode(text)
	if err != nil {
		return "", err
	}
	return canonical(v)
}

func canonical(v any) (Answer, error) {
	text, err := json.Marshal(clean(v))
	return Answer(text), err
}

// stream joins the events of a stream.
type stream struct {
	native  bool
	choices map[string]any // by index
	rest    map[string]any // what an event has beside its choices
}

// add joins an event. An error is the one that the event has.
func (s *stream) add(data []byte) error {
	v, err := decode(data)
	if err != nil {
		return fmt.Errorf("event %s: %w", data, err)
	}
	event, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("event %s is not an object", data)
	}
	if e, failed := event["error"]; failed {
		return &Failure{Text: fmt.Sprint(e), Begun: len(s.choices) > 0}
	}
	if s.choices == nil {
		s.choices, s.rest = map[string]any{}, map[string]any{}
	}
	if s.native { // it holds the answer so far
		s.choices[fmt.Sprint(event["index"])] = event
		return nil
	}
	list, _ := event["choices"].([]any)
	for _, c := range list {
		choice, ok := c.(map[string]any)
		if !ok {
			return fmt.Errorf("event %s has a choice that is not an object", data)
		}
		key := fmt.Sprint(choice["index"])
		s.choices[key] = join(s.choices[key], choice, "")
	}
	delete(event, "choices")
	for k, v := range event {
		if v != nil {
			s.rest[k] = v
		}
	}
	return nil
}

// join adds a part of a choice to what came before: texts and lists grow, everything else
// is replaced.
func join(before, part any, key string) any {
	switch p := part.(type) {
	case nil:
		return before
	case string:
		if b, ok := before.(string); ok && (key == "text" || key == "content") {
			return b + p
		}
	case []any:
		if b, ok := before.([]any); ok {
			return append(b, p...)
		}
	case map[string]any:
		b, ok := before.(map[string]any)
		if !ok {
			b = map[string]any{}
		}
		for k, v := range p {
			b[k] = join(b[k], v, k)
		}
		return b
	}
	return part
}

func (s *stream) answer() (Answer, error) {
	return canonical(map[string]any{"choices": s.choices, "rest": s.rest})
}

// Failure is an error that the server has answered with.
type Failure struct {
	Status int // 0 within a stream
	Text   string
	Begun  bool // the stream had begun
}

func (f *Failure) Error() string {
	if f.Status == 0 {
		return "the stream has an error: " + f.Text
	}
	return fmt.Sprintf("status %d: %s", f.Status, f.Text)
}

// Differ shows where two answers begin to differ; "" if they are equal.
func Differ(got, want Answer) string {
	if got == want {
		return ""
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-60)
	var b strings.Builder
	fmt.Fprintf(&b, "at byte %d:\n got  …%s\n want …%s", at, got[from:min(len(got), at+120)], want[from:min(len(want), at+120)])
	return b.String()
}
