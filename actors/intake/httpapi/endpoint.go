package httpapi

import (
	"cmp"
	"math"
	"net/http"
	"time"

	"github.com/troupe-engine/troupe/messages"
)

// plan is what an endpoint that generates makes of a body.
type plan struct {
	subs   []messages.Submission
	rid    string // the client's id of the call, or the server's
	stream bool
	answer answer
	// promptOnly hides the one token that the engine generates to complete a prefill.
	promptOnly bool
	// abortIsResult: an aborted request answers with its output, not with an error.
	abortIsResult bool
	prompts       []prompt          // with the texts that the answer echoes
	copies        int               // how often the answer has what concerns a prompt
	names         map[string]string // names of parameters at this endpoint, where they differ from those in errors of intake
}

// answer turns the outputs of a call into an endpoint's JSON.
type answer interface {
	// events adds the events of one output.
	events(to *sse, out *messages.CallOutput)
	// last adds the events that follow the last output.
	last(to *sse)
	// whole is an answer that is not streamed. outputs are by index and complete.
	whole(outputs []*messages.CallOutput) any
}

// generating is the handler of an endpoint that generates. prepare checks a body.
func generating[B any](s *Server, prepare func(*http.Request, *B) (*plan, *apiError)) handler {
	generate := post(s, func(w http.ResponseWriter, r *http.Request, job *work, body *B) *apiError {
		p, err := prepare(r, body)
		if err == nil {
			err = s.prepared(job, p)
		}
		if err != nil {
			return err
		}
		c, err := s.begin(r.Context(), p)
		if err != nil {
			return err
		}
		if p.stream {
			return s.stream(w, r, c, p.answer)
		}
		outputs, err := c.collect(r.Context())
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, p.answer.whole(outputs))
		return nil
	})
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		if err := s.overloaded(); err != nil {
			return err
		}
		return generate(w, r)
	}
}

// overloaded refuses a request before its body is read if intake would refuse it
// anyway. Under overload a server mostly refuses, and refusals take time from the device.
func (s *Server) overloaded() *apiError {
	if s.Full == nil || s.serving.Err() != nil {
		return nil
	}
	wait, most, full := s.Full()
	if !full {
		return nil
	}
	pause := int(min(math.Ceil(wait.Seconds()), longestPause))
	return newError(http.StatusTooManyRequests).coded(codeLimited).retry(pause).
		say("a new request would wait about %s, but at most %s is accepted (half of queue-timeout); send it again in %d s",
			own(wait.Round(time.Second)), own(most), own(pause))
}

// name is the endpoint's name of a parameter.
func (p *plan) name(param string) string { return cmp.Or(p.names[param], param) }

// Bounds of an answer: a short body can have a very long one.
const (
	longestPause = 600 // seconds in Retry-After, as in intake
	// maxScores bounds the log probabilities of a call of several choices, including
	// alternatives. The context bounds those of a single choice.
	maxScores  = 1 << 20
	maxEcho    = 16 << 20 // bytes of echoed prompts, once for each choice
	scoreBytes = 256      // memory of a log probability until its answer is out
)

// prepared ends the parsing of a call: it bounds the answer, returns the place, and
// charges the prompts and what is known of the answer: echoes and prompts' scores.
func (s *Server) prepared(job *work, p *plan) *apiError {
	prompts, echo, ofPrompts, ofOutputs := 0, 0, 0, 0 // bytes, bytes, log probabilities
	for i := range p.prompts {
		echo += p.copies * len(p.prompts[i].text)
	}
	for i := range p.subs {
		tokens, params := len(p.subs[i].Prompt), p.subs[i].Params
		if p.subs[i].After < 0 { // choices share a prompt
			prompts += 4 * tokens
		}
		if params.PromptLogprobs != messages.NoLogprobs {
			ofPrompts += p.copies * max(0, tokens-params.PromptLogprobStart) * (params.PromptLogprobs + 1)
		}
		if params.TopLogprobs != messages.NoLogprobs {
			ofOutputs += max(0, min(params.MaxTokens, s.Model.Context-tokens)) * (params.TopLogprobs + 1)
		}
	}
	scores := ofPrompts + ofOutputs
	switch {
	case echo > maxEcho:
		return invalid(p.name("n"), "echoing the prompts once per choice takes %d bytes; at most %d are allowed; split the request, or ask for fewer choices", own(echo), own(maxEcho))
	case len(p.subs) > 1 && scores > maxScores:
		return invalid(p.name("n"), "the response may have %d log probabilities including alternatives; at most %d are allowed; split the request, lower max_tokens, or ask for fewer choices or alternatives", own(scores), own(maxScores))
	}
	return job.parsed(prompts + echo + ofPrompts*scoreBytes)
}

// stream are the parameters of a streamed answer.
type stream struct {
	Stream        *bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage       *bool `json:"include_usage"`
		IncludeObfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
}

func (s *stream) on() bool { return given(s.Stream, false) }

func (s *stream) check() *apiError {
	switch {
	case s.StreamOptions == nil:
		return nil
	case !s.on():
		return invalid("stream_options", "stream_options requires stream: true; set it, or leave stream_options out")
	case given(s.StreamOptions.IncludeObfuscation, false):
		return unsupported("stream_options.include_obfuscation", "leave it out or send false")
	}
	return nil
}

// openAIAnswer is the answer of an endpoint of OpenAI's API and, with other
// choices, also a chunk of a stream.
type openAIAnswer[C any] struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint,omitempty"`
	Choices     []C    `json:"choices"`
	Usage       any    `json:"usage,omitempty"` // *usage; nil leaves it out, a nil *usage is null

	total     usage
	n         int  // choices of each prompt
	withUsage bool // a stream ends with the usage
	// convert sends the choices that an output makes.
	convert func(out *messages.CallOutput, send func(C))
}

func newOpenAIAnswer[C any](s *Server, id, object string, n int, o *stream, convert func(*messages.CallOutput, func(C))) *openAIAnswer[C] {
	a := &openAIAnswer[C]{ID: id, Object: object, Created: s.Now().Unix(), Model: s.Model.ID, n: n, convert: convert}
	if s.Model.Fingerprint != nil {
		a.Fingerprint = s.Model.Fingerprint()
	}
	if a.withUsage = o.StreamOptions != nil && given(o.StreamOptions.IncludeUsage, false); a.withUsage {
		a.Usage = (*usage)(nil)
	}
	return a
}

// events implements answer: each choice is a chunk.
func (a *openAIAnswer[C]) events(to *sse, out *messages.CallOutput) {
	a.count(out)
	a.convert(out, func(c C) {
		a.Choices = append(a.Choices[:0], c)
		to.add(a)
	})
}

func (a *openAIAnswer[C]) last(to *sse) {
	if a.withUsage {
		a.Choices, a.Usage = []C{}, &a.total
		to.add(a)
	}
}

func (a *openAIAnswer[C]) whole(outputs []*messages.CallOutput) any {
	for _, out := range outputs {
		a.count(out)
		a.convert(out, func(c C) { a.Choices = append(a.Choices, c) })
	}
	a.Usage = &a.total
	return a
}

func (a *openAIAnswer[C]) count(out *messages.CallOutput) {
	if out.Finish != nil {
		a.total.add(out.Usage, out.Index%a.n == 0)
	}
}

func finishWord(f *messages.Finish) *string { return new(string(f.Reason)) }

// usage is the API's count of tokens. cached_tokens is always there: nothing
// found in the cache is a zero, not an absence.
type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// add counts one request; a prompt with n choices counts once.
func (u *usage) add(r messages.Usage, firstChoice bool) {
	if firstChoice {
		u.PromptTokens += r.PromptTokens
		u.PromptTokensDetails.CachedTokens += r.CachedTokens
	}
	u.CompletionTokens += r.CompletionTokens
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
}
