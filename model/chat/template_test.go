package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

// llamaLike has the shape of Llama 3's template: headers, a date, tools.
const llamaLike = `{{- bos_token }}
{%- if not date is defined %}
    {%- set date = strftime_now("%d %b %Y") %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\nToday: " + date + "\n\n" }}
{%- if tools is defined and tools %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) + "\n\n" }}
    {%- endfor %}
{%- endif %}
{{- system + "<|eot_id|>" }}
{%- for message in messages %}
    {%- if message.role not in ['user', 'assistant', 'tool'] %}
        {{- raise_exception("Unknown role: " ~ message.role) }}
    {%- endif %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}`

func mustParse(t testing.TB, src string) *Template {
	tmpl, err := Parse("test", src)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func mustDecode(t testing.TB, s string) any {
	v, err := DecodeJSON([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRender(t *testing.T) {
	in := Input{
		Messages:            mustDecode(t, `[{"role":"system","content":" Be brief. "},{"role":"user","content":"Hi"}]`),
		Tools:               mustDecode(t, `[{"name":"f","args":{"z":1,"a":"é"}}]`),
		AddGenerationPrompt: true, BOS: "<s>", EOS: "</s>", Now: goldenNow,
	}
	const want = "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\n\n" +
		"{\n    \"name\": \"f\",\n    \"args\": {\n        \"z\": 1,\n        \"a\": \"é\"\n    }\n}\n\n" +
		"Be brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
		"<|start_header_id|>assistant<|end_header_id|>\n\n"
	tmpl := mustParse(t, llamaLike)
	// Concurrent renderings share template and messages.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := tmpl.Render(context.Background(), in)
			if err != nil || got != want {
				t.Errorf("got %q, %v\nwant %q", got, err, want)
			}
		})
	}
	wg.Wait()
}

func TestRaisedErrorKeepsTheMessage(t *testing.T) {
	_, err := mustParse(t, llamaLike).Render(context.Background(), Input{
		Messages: []map[string]any{{"role": "narrator", "content": "x"}},
	})
	var raised *RaisedError
	if !errors.As(err, &raised) || raised.Message != "Unknown role: narrator" {
		t.Fatalf("error %v", err)
	}
	var e *Error
	if !errors.As(err, &e) || e.Line != 20 || !strings.Contains(err.Error(), "test line 20: Unknown role: narrator") {
		t.Errorf("error %v does not name line 20", err)
	}
}

// TestInputs: what Go callers may hand over, and how absence looks.
func TestInputs(t *testing.T) {
	type call struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	}
	for _, c := range []struct {
		src  string
		in   Input
		want string
	}{
		{"{{ tools is defined }} {{ messages is none }}", Input{}, "False True"},
		{"{{ tools is none }}", Input{Tools: None}, "True"},
		{"{{ messages[0] | tojson }}", Input{Messages: []call{{"f", map[string]any{"b": 1, "a": 2.0}}}}, `{"name": "f", "args": {"a": 2, "b": 1}}`},
		{"{{ messages.k }}", Input{Messages: map[string]any{"k": json.Number("12345678901234567890")}}, "12345678901234567890"},
		{"{{ messages }}", Input{Messages: []any{int32(1), uint64(1<<63 + 1), float32(0.5), json.RawMessage(`{"z":1,"a":2}`), "x\xff"}}, "[1, 9223372036854775809, 0.5, {'z': 1, 'a': 2}, 'x�']"},
		{"{{ bos_token }}{{ eos_token }}{{ x }}", Input{BOS: "b", EOS: "e", Extra: map[string]any{"x": 5}}, "be5"},
	} {
		got, err := mustParse(t, c.src).Render(context.Background(), c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.src, got, err, c.want)
		}
	}
	_, err := mustParse(t, "x").Render(context.Background(), Input{Messages: make(chan int)})
	if err == nil || !strings.Contains(err.Error(), "variable messages: chan int cannot be a template value") {
		t.Errorf("a channel: error %v", err)
	}
}

func TestParseErrorNamesTemplateAndLine(t *testing.T) {
	_, err := Parse("llama", "a\n{% if %}")
	const want = "chat template: llama line 2: TemplateSyntaxError: expected an expression, got end of statement block"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestStrftime: against C's strftime in the C locale, for two instants.
func TestStrftime(t *testing.T) {
	const format = "%a %A %b %B %d %m %y %Y %H %I %M %S %p %j %e %D %F %T %R %U %W %V %G %u %w %C %% %-d %-m %-H %-I %-j|%k|%l|%f %q %"
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{time.Date(2024, 7, 26, 12, 0, 0, 0, time.UTC), "Fri Friday Jul July 26 07 24 2024 12 12 00 00 PM 208 26 07/26/24 2024-07-26 12:00:00 12:00 29 30 30 2024 5 5 20 % 26 7 12 12 208|12|12|000000 %q %"},
		{time.Date(2023, 1, 1, 0, 5, 9, 1500, time.UTC), "Sun Sunday Jan January 01 01 23 2023 00 12 05 09 AM 001  1 01/01/23 2023-01-01 00:05:09 00:05 01 00 52 2022 7 0 20 % 1 1 0 12 1| 0|12|000001 %q %"},
	} {
		if got := strftime(c.now, format); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.now, got, c.want)
		}
	}
}

func BenchmarkRender20Messages(b *testing.B) {
	var s strings.Builder
	s.WriteString(`[{"role":"system","content":"You are terse."}`)
	for i := range 19 {
		role := [2]string{"user", "assistant"}[i%2]
		s.WriteString(`,{"role":"` + role + `","content":"` + strings.Repeat("some words of a message ", 10) + `"}`)
	}
	s.WriteString("]")
	in := Input{Messages: mustDecode(b, s.String()), AddGenerationPrompt: true, BOS: "<s>", Now: goldenNow}
	tmpl := mustParse(b, llamaLike)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(llamaLike)))
	for b.Loop() {
		mustParse(b, llamaLike)
	}
}

// TestReservedVariables: a variable that Render sets cannot be replaced.
func TestReservedVariables(t *testing.T) {
	tmpl := mustParse(t, "{{ bos_token }}{{ x }}")
	for _, name := range []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "raise_exception", "strftime_now", "range", "dict"} {
		_, err := tmpl.Render(context.Background(), Input{Extra: map[string]any{name: "other", "x": 1}})
		var reserved *ReservedError
		if !errors.As(err, &reserved) || reserved.Name != name || !strings.Contains(err.Error(), "cannot be replaced; leave it out") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMaxBytes bounds the prompt, and lowers the default only.
func TestMaxBytes(t *testing.T) {
	tmpl := mustParse(t, "{% for m in messages %}{{ m }}{% endfor %}")
	messages := mustDecode(t, `["<aaa", "bbbb>"]`)
	for most, want := range map[int]string{0: "<aaabbbb>", 9: "<aaabbbb>", 1 << 40: "<aaabbbb>", 8: ""} {
		for _, follow := range []string{"", "<>"} {
			p, err := tmpl.RenderFollowed(context.Background(), Input{Messages: messages, MaxBytes: most, Follow: []rune(follow)})
			var long *LengthError
			if want != p.Text || (err != nil) != (want == "") || err != nil && (!errors.As(err, &long) || long.Max != 8 || long.Bytes != 9) {
				t.Errorf("at most %d bytes, %q followed: %q, %v", most, follow, p.Text, err)
			}
		}
	}
	_, err := mustParse(t, "{{ 'x' * 20000000 }}").Render(context.Background(), Input{MaxBytes: 1 << 40})
	var long *LengthError
	if !errors.As(err, &long) || long.Max != 16<<20 {
		t.Errorf("error %v, want the default bound", err)
	}
}

// TestErrorsAreTheClientsWords: a refusal quotes the client's text, shortened.
func TestErrorsAreTheClientsWords(t *testing.T) {
	tmpl := mustParse(t, "{{ raise_exception('no ' ~ messages) }}")
	_, err := tmpl.RenderFollowed(context.Background(), Input{Messages: "<b>", Follow: []rune("<>")})
	var raised *RaisedError
	if !errors.As(err, &raised) || raised.Message != "no <b>" {
		t.Errorf("error %q", err)
	}
	_, err = tmpl.RenderFollowed(context.Background(), Input{Messages: strings.Repeat("é<", 1<<20), Follow: []rune("<>")})
	if !errors.As(err, &raised) || len(raised.Message) > 1100 || !strings.HasPrefix(raised.Message, "no é<é<") || !strings.HasSuffix(raised.Message, "…") {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	for message, want := range map[string]string{"[1, 'a<']": "[1, 'a<']", "{'k': [none]}": "{'k': [None]}", "missing": "", "2.0": "2.0"} {
		_, err := mustParse(t, "{{ raise_exception("+message+") }}").RenderFollowed(context.Background(), Input{Follow: []rune("<>")})
		if !errors.As(err, &raised) || raised.Message != want {
			t.Errorf("raise_exception(%s): error %q, want %q", message, err, want)
		}
	}
	_, err = mustParse(t, "{{ messages.x[messages.s].y }}").RenderFollowed(context.Background(), Input{
		Messages: map[string]any{"x": 1, "s": strings.Repeat("<", 1<<20)}, Follow: []rune("<>")})
	if err == nil || len(err.Error()) > 1200 || !strings.Contains(err.Error(), "<<<<") {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}
