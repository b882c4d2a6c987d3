package wire

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/messages"
)

func refused(t *testing.T, want string, decode func() (any, error)) {
	t.Helper()
	if m, err := decode(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %+v and %v, want an error with %q", m, err, want)
	}
}

func enqueue(requests ...*Request) *Bulk {
	return &Bulk{Body: &Bulk_Enqueue{&Enqueue{Requests: requests}}}
}

func goodRequest() *Request {
	return &Request{Id: 1, Prompt: []int32{1}, Params: encodeParams(&messages.SamplingParams{TopP: 1, RepetitionPenalty: 1, MaxTokens: 5})}
}

func TestBadRequestsAreRefused(t *testing.T) {
	for want, change := range map[string]func(r *Request){
		"no parameters":                             func(r *Request) { r.Params = nil },
		"has no id":                                 func(r *Request) { r.Id = 0 },
		"prompt of 0 tokens":                        func(r *Request) { r.Prompt = nil },
		"prompt of 60 tokens":                       func(r *Request) { r.Prompt = make([]int32, 60) },
		"of at most 9223372036854775807":            func(r *Request) { r.Params.MaxTokens = math.MaxInt64 },
		"output of 5, of at most 5":                 func(r *Request) { r.Output = make([]int32, 5) },
		"token 1000 is outside":                     func(r *Request) { r.Prompt[0] = 1000 },
		"token -1 is outside":                       func(r *Request) { r.Output = []int32{-1} },
		"65537 bytes":                               func(r *Request) { r.Namespace = strings.Repeat("x", 65537) },
		"temperature is NaN":                        func(r *Request) { r.Params.Temperature = float32(math.NaN()) },
		"top_p is 0":                                func(r *Request) { r.Params.TopP = 0 },
		"max_tokens is 0":                           func(r *Request) { r.Params.MaxTokens = 0 },
		"min_tokens is -1":                          func(r *Request) { r.Params.MinTokens = -1 },
		"top_logprobs is 6":                         func(r *Request) { r.Params.TopLogprobs = 6 },
		"values of biases is 0":                     func(r *Request) { r.Params.BiasTokens = []int32{1} },
		"tokens 3 and 3 are not in ascending order": func(r *Request) { r.Params.BiasTokens, r.Params.Biases = []int32{3, 3}, []float32{1, 1} },
		"the bias of token 3 is 101; it must be between -100 and 100": func(r *Request) { r.Params.BiasTokens, r.Params.Biases = []int32{3}, []float32{101} },
		"end the output is 4097":      func(r *Request) { r.Params.EosTokenIds = make([]int32, 4097) },
		"number of biases is 4097":    func(r *Request) { r.Params.BiasTokens, r.Params.Biases = make([]int32, 4097), make([]float32, 4097) },
		"thoughts may have -1 tokens": func(r *Request) { r.Params.Grammar = &Grammar{Thoughts: &Thoughts{Tokens: -1}} },
		"257 tokens; at most":         func(r *Request) { r.Params.Grammar = &Grammar{Thoughts: &Thoughts{End: make([]int32, 257)}} },
		"its text 4194305; at most":   func(r *Request) { r.Params.Grammar = &Grammar{Text: strings.Repeat("x", 4<<20+1)} },
		"prompt_logprob_start is -1;": func(r *Request) { r.Params.PromptLogprobStart = -1 },
	} {
		r := goodRequest()
		change(r)
		refused(t, want, func() (any, error) { return DecodeDownBulk(enqueue(r), slot, 0, &limits) })
	}
	for want, b := range map[string]*Bulk{
		"is there twice":   enqueue(goodRequest(), goodRequest()),
		"without requests": enqueue(),
		"bulk of type":     {Body: &Bulk_CacheChanged{&CacheChanged{}}},
	} {
		refused(t, want, func() (any, error) { return DecodeDownBulk(b, slot, 0, &limits) })
	}
	refused(t, "frame of type *wire.Frame_Results", func() (any, error) { return DecodeDown(&Frame{Body: &Frame_Results{}}, slot) })
	refused(t, "limit of a description is -1", func() (any, error) {
		return DecodeDown(&Frame{Body: &Frame_DescribeCache{&Describe{Depth: -1}}}, slot)
	})
}

func TestBadResultsAreRefused(t *testing.T) {
	one := func(change func(r *Results)) *Frame {
		r := &Results{Ids: []int64{1}, Positions: []uint32{1}, Tokens: []int32{1}}
		change(r)
		return &Frame{Body: &Frame_Results{r}}
	}
	for want, f := range map[string]*Frame{
		"0 positions":                  one(func(r *Results) { r.Positions = nil }),
		"2 log probabilities":          one(func(r *Results) { r.Logprobs = []*Position{{}, {}} }),
		"token 1000 is outside":        one(func(r *Results) { r.Tokens[0] = 1000 }),
		"token 1001 is outside":        one(func(r *Results) { r.Logprobs = []*Position{{Tokens: []int32{1001}, Logprobs: []float32{0}}} }),
		"2 tokens and 1 log":           one(func(r *Results) { r.Logprobs = []*Position{{Tokens: []int32{1, 2}, Logprobs: []float32{1}}} }),
		"7 tokens and 7 log":           one(func(r *Results) { r.Logprobs = []*Position{{Tokens: make([]int32, 7), Logprobs: make([]float32, 7)}} }),
		"ended for reason 0":           one(func(r *Results) { r.Ended = []*Ended{{Id: 1}} }),
		"ended for reason 8":           one(func(r *Results) { r.Ended = []*Ended{{Id: 1, Reason: 8}} }), // of dispatch only
		"65 cached tokens":             one(func(r *Results) { r.Prompts = []*Prompt{{CachedTokens: 65}} }),
		"a position of the prompt":     one(func(r *Results) { r.Prompts = []*Prompt{{Logprobs: []*Position{{}}}} }),
		"results without content":      {Body: &Frame_Results{}},
		"5 groups of pages":            {Body: &Frame_SlotsAudited{&Audited{Pages: make([]int64, 5)}}},
		"counts 2199023255552 pages":   {Body: &Frame_SlotsAudited{&Audited{Pages: []int64{1 << 41, 0, 0, 0, 0, 0}}}},
		"2199023255552 is not a":       {Body: &Frame_CacheFlushed{&Flushed{Count: 1 << 41}}},
		"a text has 65537 bytes":       {Body: &Frame_EpochEnded{&EpochEnded{Cause: strings.Repeat("x", 65537)}}},
		"frame of type *wire.Frame_Fl": {Body: &Frame_FlushCache{&Ask{}}},
	} {
		refused(t, want, func() (any, error) { return DecodeUp(f, slot, &limits) })
	}
	refused(t, "a position of the prompt", func() (any, error) {
		return DecodePromptLogprobs(&PromptLogprobs{Logprobs: []*Position{{}}}, &limits)
	})
	for want, b := range map[string]*Bulk{
		"not JSON":     {Body: &Bulk_CacheDescribed{&Described{Json: []byte("{")}}},
		"has kind 4":   {Body: &Bulk_CacheChanged{&CacheChanged{Events: []*CacheEvent{{Kind: 4}}}}},
		"bulk of type": {Body: &Bulk_Enqueue{}},
	} {
		refused(t, want, func() (any, error) { return DecodeUpBulk(b, slot) })
	}
}

// What is sent keeps the receiver's limits, whatever it says.
func TestTextsAreMadeToFit(t *testing.T) {
	broken := "caf\xe9 " + strings.Repeat("é", 65536)
	for _, f := range []*Frame{
		EncodeEpochEnded(&messages.EpochEnded{Cause: broken}),
		EncodeResults(&messages.StepResults{Ended: []messages.RequestEnded{{ID: 1, Reason: messages.EndFailed, Why: broken}}}),
	} {
		if _, err := DecodeUp(over(t, f, &Frame{}), slot, &limits); err != nil {
			t.Error(err)
		}
	}
	b, err := EncodeCacheDescribed(&messages.CacheDescribed{View: largeView{}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := DecodeUpBulk(over(t, b, &Bulk{}), slot)
	if err != nil || !strings.Contains(m.(*messages.CacheDescribed).View.Text(true), "Ask for fewer nodes") {
		t.Errorf("%v", err)
	}
}

type largeView struct{}

func (largeView) Text(bool) string { return strings.Repeat("x", maxBytes) }

// Any bytes are a message within the limits or an error.
func FuzzFrames(f *testing.F) {
	for _, m := range []proto.Message{
		EncodeResults(&messages.StepResults{Seq: 1, Tokens: []messages.TokenResult{{ID: 3, Token: 4, Logprobs: &messages.PositionLogprobs{}}}}),
		EncodeFinish(&messages.FinishRequests{IDs: []messages.RequestID{1, 2}}), &Frame{Seq: 3, Body: &Frame_Piece{&Piece{Data: []byte("x"), Last: true}}},
		enqueue(goodRequest()),
	} {
		text, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if frame := (&Frame{}); proto.Unmarshal(text, frame) == nil {
			_, _ = DecodeDown(frame, slot)
			m, err := DecodeUp(frame, slot, &limits)
			if r, ok := m.(*messages.StepResults); ok && err == nil {
				for _, token := range r.Tokens {
					if token.Token < 0 || int(token.Token) >= limits.Vocab {
						t.Errorf("token %d got through", token.Token)
					}
				}
			}
		}
		bulk := &Bulk{}
		if proto.Unmarshal(text, bulk) != nil {
			return
		}
		_, _ = DecodeUpBulk(bulk, slot)
		m, err := DecodeDownBulk(bulk, slot, 0, &limits)
		if m, ok := m.(*messages.EnqueueRequests); ok && err == nil {
			for _, r := range m.Requests {
				if len(r.Prompt) == 0 || len(r.Prompt) > limits.Context-r.Params.MaxTokens || r.Params.MaxTokens <= len(r.Output) {
					t.Errorf("%+v got through", r)
				}
			}
		}
	})
}
