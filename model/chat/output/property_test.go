package output

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// ownTools are tools with parameters of every type.
var ownTools = []Tool{
	{Name: "weather", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
		"exact":{"type":"boolean"},"tags":{"type":"array"},"more":{"type":"object"},"any":{}}}`)},
	{Name: "stop"},
}

// pieces are texts that outputs of a format are made of: its marks, and what may be between them.
func pieces(f *Format) []string {
	m := newMarking(f, true)
	list := []string{"weather", "stop", "other", "city", "Rome", "days", "7", " ", "\n", "é", "世", "\xff", "{", "}", "[", "]", "(", ")", ",", ":",
		`"`, `\`, "'", "=", "<", ">", `{"name": "weather", "arguments": {"city": "Rome"}}`, `{"city": "Rome"}`, `{"city": "Ro`, `weather(city="Rome")`,
		`weather{"days": 7}`, `{city:"Rome"}`, `"{\"days\": 7}"`, `functions.weather:0`, `<parameter=city>Rome</parameter>`, "all\n", "function",
		`{"tool_name": "weather", "parameters": {}}`, `{"weather": {}}`, `\u00e9`, `\ud83d\ude00`, "null", "true", `name="weather">`}
	for _, s := range m.all {
		if s != "" && !strings.Contains(s, "{") {
			list = append(list, s)
		}
	}
	return list
}

func drawText(t *rapid.T, f *Format) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces(f)), 0, 30).Draw(t, "pieces"), "")
}

func drawFormat(t *rapid.T) *Format {
	f := rapid.SampledFrom(catalogue).Draw(t, "format")
	if r := rapid.SampledFrom(append([]Reasoning{{}, f.Reasoning}, pairs...)).Draw(t, "reasoning"); f.Messages == nil {
		f.Reasoning = r
	}
	if lead := rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "lead"); f.Calls != nil {
		calls := *f.Calls
		calls.Lead = lead
		f.Calls = &calls
	}
	return &f
}

func drawOptions(t *rapid.T) Options {
	o := Options{KeepReasoning: rapid.Bool().Draw(t, "keep"), Hold: rapid.Bool().Draw(t, "hold"), AnyName: rapid.Bool().Draw(t, "any"),
		Begin: rapid.SampledFrom([]Begin{AtStart, InReasoning, InContent}).Draw(t, "begin")}
	if rapid.Bool().Draw(t, "tools") {
		o.Tools = ownTools
	}
	return o
}

// The parts of an output do not depend on how it is cut, and are well formed.
func TestAnyCutGivesTheSameParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, o := drawFormat(t), drawOptions(t)
		text, end := drawText(t, f), rapid.Bool().Draw(t, "cut")
		whole := Read(f, o, text, end)
		p := NewParser(f, o)
		var c Collector
		check := checker{t: t, valid: utf8.ValidString(text), o: o}
		for rest := text; rest != ""; {
			n := rapid.IntRange(0, min(len(rest), 9)).Draw(t, "bytes")
			events := p.Push(rest[:n])
			check.events(events)
			c.Add(events)
			rest = rest[n:]
		}
		events := p.Finish(end)
		check.events(events)
		c.Add(events)
		if m := c.Message(); !reflect.DeepEqual(m, whole) {
			t.Fatalf("%s, %q:\ncut   %+v\nwhole %+v", f.Name, text, m, whole)
		}
	})
}

// checker checks the order and form of events.
type checker struct {
	t     *rapid.T
	valid bool // the text is UTF-8
	o     Options
	open  bool
	next  int
	args  string
}

func (c *checker) events(events []Event) {
	for _, e := range events {
		switch e.Kind {
		case ReasoningDelta, ContentDelta, ArgumentsDelta:
			if e.Text == "" || c.valid && !utf8.ValidString(e.Text) {
				c.t.Fatalf("delta %q", e.Text)
			}
			if c.open != (e.Kind == ArgumentsDelta) {
				c.t.Fatalf("%+v, a call is open: %v", e, c.open)
			}
			c.args += e.Text
		case CallOpened:
			if c.open || e.Index != c.next || e.Name == "" || !c.o.AnyName && e.Name != "weather" && e.Name != "stop" {
				c.t.Fatalf("%+v, want index %d", e, c.next)
			}
			c.open, c.args = true, ""
			c.next++
		case CallClosed:
			var arguments map[string]any
			if !c.open || json.Unmarshal([]byte(c.args), &arguments) != nil || arguments == nil {
				c.t.Fatalf("%+v with arguments %q", e, c.args)
			}
			c.open = false
		case CallBroken:
			if !c.open || c.o.Hold {
				c.t.Fatalf("%+v", e)
			}
			c.open = false
		}
	}
}

// An output without calls is its own content, byte for byte, if thoughts stay in it.
func TestNoCallIsTheExactText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, o := drawFormat(t), drawOptions(t)
		if f.Messages != nil || f.Drop != nil || f.Calls.Call.Content != "" {
			t.Skip("marks of this format are no content")
		}
		o.KeepReasoning = true
		text := drawText(t, f)
		m := Read(f, o, text, false)
		if len(m.Calls) == 0 && (m.Content != text || m.Reasoning != "") {
			t.Fatalf("%s, %q: %+v", f.Name, text, m)
		}
	})
}

// Whether calls are held back does not change what they are.
func TestHoldGivesTheSameParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, o := drawFormat(t), drawOptions(t)
		text := drawText(t, f)
		o.Hold = false
		want := Read(f, o, text, false)
		o.Hold = true
		got := Read(f, o, text, false)
		for i := range want.Calls {
			want.Calls[i].Index = i // broken calls have indexes, too
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s, %q:\nheld %+v\nnot  %+v", f.Name, text, got, want)
		}
	})
}
