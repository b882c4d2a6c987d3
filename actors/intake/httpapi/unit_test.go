package httpapi

import (
	"math"
	"net"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/troupe-engine/troupe/messages"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

func testModel(t testing.TB) *Model {
	t.Helper()
	tok, err := tokenizer.LoadFS(bundled.FS())
	if err != nil {
		t.Fatal(err)
	}
	return &Model{Tokenizer: tok, EOS: []int32{1}, Defaults: SamplingDefaults{Temperature: .6, TopP: .95, TopK: 20, MinP: .05, RepetitionPenalty: 1.1}}
}

// The model's defaults replace parameters that a request leaves out, and only those.
func TestSamplingDefaults(t *testing.T) {
	m := testModel(t)
	seed := func() uint64 { return 77 }
	p, err := (&sampling{}).params(m, maxTokens{"max_tokens", nil, 1}, seed)
	if err != nil {
		t.Fatal(err)
	}
	if p.Temperature != .6 || p.TopP != .95 || p.TopK != 20 || p.MinP != .05 || p.RepetitionPenalty != 1.1 || p.Seed != 77 || p.MaxTokens != unlimitedTokens {
		t.Errorf("%+v", p)
	}
	one, none, k := 1.0, 0.0, 0
	p, err = (&sampling{Temperature: &one, TopP: &one, TopK: &k, MinP: &none, RepetitionPenalty: &one}).params(m, maxTokens{"max_tokens", nil, 1}, seed)
	if err != nil || p.Temperature != 1 || p.TopP != 1 || p.TopK != 0 || p.MinP != 0 || p.RepetitionPenalty != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	tiny := 1e-60 // becomes zero as a float32
	if p, err = (&sampling{TopP: &tiny}).params(m, maxTokens{"max_tokens", nil, 1}, seed); err != nil || p.TopP != 1 || p.TopK != 1 {
		t.Errorf("top_p %v: %+v, %v", tiny, p, err)
	}
	if _, err = (&sampling{RepetitionPenalty: &tiny}).params(m, maxTokens{"max_tokens", nil, 1}, seed); err == nil {
		t.Errorf("a repetition_penalty of %v is taken", tiny)
	}
}

// Offsets in characters, asked for in order while the text arrives in pieces,
// are those in the whole text.
func TestTextOffsetsEqualTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("aé漢🙂")))).Draw(t, "pieces")
		var o textOffsets
		whole, last := "", 0
		for _, piece := range pieces {
			o.add(piece)
			whole += piece
			for i := range whole {
				if i >= last && rapid.Bool().Draw(t, "ask") {
					last = i
					if got, want := o.at(i), utf8.RuneCountInString(whole[:i]); got != want {
						t.Fatalf("byte %d of %q is character %d, got %d", i, whole, want, got)
					}
				}
			}
		}
	})
}

func TestDidYouMean(t *testing.T) {
	names := fieldNames(reflect.TypeFor[chatRequest]())
	for name, want := range map[string]string{"temprature": "temperature", "maxtokens": "max_tokens", "max_tokns": "max_tokens", "tokens_max": "max_tokens",
		"topp": "top_p", "quux_blorb": "", strings.Repeat("x", 1000): ""} {
		got := didYouMean(name, names)
		if want == "" && got != "" || want != "" && got != "; did you mean "+want+"?" {
			t.Errorf("%.20s: %q, want %q", name, got, want)
		}
	}
}

// JSON has no minus infinity and no NaN.
func TestFinite(t *testing.T) {
	for _, lp := range []float64{math.Inf(-1), math.NaN(), -1e30} {
		if got := finite(float32(lp)); got != lowestLogprob {
			t.Errorf("%v becomes %v", lp, got)
		}
	}
	if finite(-3.5) != -3.5 {
		t.Error("a plain value changes")
	}
}

// Tokens that are not UTF-8 stay distinct.
func TestTextTokensAreDistinct(t *testing.T) {
	m := testModel(t)
	seen := map[string]int32{}
	for id := range int32(m.Tokenizer.VocabSize()) {
		name := textToken(m, id)
		if other, there := seen[name]; there && string(m.Tokenizer.TokenBytes(id)) != string(m.Tokenizer.TokenBytes(other)) {
			t.Errorf("tokens %d and %d are both %q", other, id, name)
		}
		if seen[name] = id; !utf8.ValidString(name) {
			t.Errorf("token %d is %q, which is not UTF-8", id, name)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		refusal messages.CallRefused
		status  int
		retry   int
	}{
		{messages.CallRefused{Kind: messages.RefusedInvalid}, 400, 0},
		{messages.CallRefused{Kind: messages.RefusedDuplicate}, 400, 0},
		{messages.CallRefused{Kind: messages.RefusedBusy, RetryAfterSeconds: 7}, 429, 7},
		{messages.CallRefused{Kind: messages.RefusedDraining}, 503, 1},
		{messages.CallRefused{Kind: messages.RefusedInternal}, 500, 0},
	} {
		if e := refused(&c.refusal); e.Status != c.status || e.RetryAfter != c.retry {
			t.Errorf("kind %d returns %d, Retry-After %d", c.refusal.Kind, e.Status, e.RetryAfter)
		}
	}
	if e := finishError(&messages.Finish{Reason: messages.FinishError, Message: "x"}); e.Status != 500 || e.Code != "generation_failed" {
		t.Errorf("%+v", e)
	}
}

// An empty key, which Listen refuses, allows nothing.
func TestAnEmptyKeyIsNobodys(t *testing.T) {
	for _, o := range []Options{{APIKeys: []string{""}}, {APIKeys: []string{"", "k"}}} {
		for _, header := range []string{"", "Bearer", "Bearer ", "Basic k"} {
			r := httptest.NewRequest("GET", "/v1/models", nil)
			r.Header.Set("Authorization", header)
			if who := newKeyring(&o).identify(r); who != (sender{}) {
				t.Errorf("%q is %+v", header, who)
			}
		}
	}
}

// The rule follows the address that was opened, and its name in the settings stays
// allowed.
func TestANameOfALoopbackAddress(t *testing.T) {
	h := newHostRule("mybox", nil)
	r := httptest.NewRequest("GET", "http://evil.example/livez", nil)
	if e := h.check(r); e != nil {
		t.Errorf("before it listens: %v", e)
	}
	h.listens(&net.TCPAddr{IP: net.IPv4(127, 0, 1, 1)})
	if e := h.check(r); e == nil || !strings.Contains(e.Message, `"evil.example"`) || strings.Contains(e.logged, "evil") {
		t.Errorf("on loopback: %+v", e)
	}
	if e := h.check(httptest.NewRequest("GET", "http://MYBOX:30000/livez", nil)); e != nil {
		t.Errorf("its own name: %v", e)
	}
	far := newHostRule("mybox", nil)
	far.listens(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 7)})
	if e := far.check(r); e != nil {
		t.Errorf("on a network: %v", e)
	}
}

func TestFinishErrorsByKind(t *testing.T) {
	for kind, want := range map[messages.RefusalKind]struct {
		status, retry int
		code          string
	}{
		0:                           {500, 0, "generation_failed"},
		messages.RefusedInvalid:     {400, 0, "nothing_to_sample"},
		messages.RefusedGrammar:     {400, 0, "invalid_grammar"},
		messages.RefusedInternal:    {500, 0, "generation_failed"},
		messages.RefusedBusy:        {429, 7, "rate_limit_exceeded"},
		messages.RefusedTimeout:     {503, 7, "request_timeout"},
		messages.RefusedDraining:    {503, 7, "shutting_down"},
		messages.RefusedUnavailable: {503, 7, "no_engine"},
	} {
		e := finishError(&messages.Finish{Reason: messages.FinishError, Message: "why", Kind: kind, RetryAfterSeconds: 7})
		if e.Status != want.status || e.RetryAfter != want.retry || e.Code != want.code || e.Message != "why" {
			t.Errorf("kind %d returns %+v", kind, e)
		}
	}
}
