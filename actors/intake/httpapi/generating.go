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
	served  *Served
	subs    []messages.Submission
	grammar *source // nil: the output is not constrained
	within  string  // prefix of the grammar's parameter
	rid     string  // the client's id of the call, or the server's
	stream  bool
	answer  answer

	promptOnly    bool              // hides the one token that the engine generates to complete a prefill
	abortIsResult bool              // an aborted request answers with its output, not with an error
	prompts       []prompt          // with the texts that the answer echoes
	copies        int               // how often the answer has what concerns a prompt
	ignored       []string          // parameters that have no effect with this model
	names         map[string]string // names of parameters at this endpoint, where they differ from those in errors of intake
}

// generating is the handler of an endpoint that generates. prepare checks a body.
func generating[B any](s *Server, prepare func(*http.Request, *B) (*plan, *apiError)) handler {
	generate := post(s, func(w http.ResponseWriter, r *http.Request, job *work, body *B) *apiError {
		p, err := prepare(r, body)
		if err == nil {
			err = s.prepared(job, p)
		}
		if err == nil {
			err = s.compile(w, r, p)
		}
		if err != nil {
			return err
		}
		p.grammar = nil // it knows places in the body, which is large and not needed any more
		for _, name := range p.ignored {
			job.left.ignore(name)
		}
		job.left.report(w, &s.Log, trailOf(r.Context()).id)
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
		return respond(w, p.answer.whole(outputs))
	})
	return func(w http.ResponseWriter, r *http.Request) *apiError {
		if err := s.drained(); err != nil {
			return err
		}
		// Which of several models a request is for shows in its body.
		if all := s.Models.All(); len(all) == 1 {
			if err := s.overloaded(all[0]); err != nil {
				return err
			}
		}
		return generate(w, r)
	}
}

// overloaded refuses a request, if possible before its body is read, that intake would
// refuse anyway. Under overload a server mostly refuses, and refusals take time from the device.
func (s *Server) overloaded(m *Served) *apiError {
	if m.Full == nil || s.serving.Err() != nil {
		return nil
	}
	wait, most, full := m.Full()
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
	maxScores   = 1 << 20
	maxEcho     = 16 << 20 // bytes of echoed prompts, once for each choice
	maxGrammars = 16 << 20 // bytes of a grammar, once for each choice: in a cluster each takes it along
	scoreBytes  = 256      // memory of a log probability until its answer is out
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
			ofOutputs += max(0, min(params.MaxTokens, p.served.Model.Context-tokens)) * (params.TopLogprobs + 1)
		}
	}
	scores, grammar := ofPrompts+ofOutputs, 0
	if p.grammar != nil {
		grammar = len(p.grammar.src.Text)
	}
	switch {
	case grammar*len(p.subs) > maxGrammars:
		return invalid(p.within+p.grammar.name, "the grammar has %d bytes and the call %d choices, which is %d bytes on the way to engines; at most %d are allowed; split the request, or ask for fewer choices",
			own(grammar), own(len(p.subs)), own(grammar*len(p.subs)), own(maxGrammars))
	case echo > maxEcho:
		return invalid(p.name("n"), "echoing the prompts once per choice takes %d bytes; at most %d are allowed; split the request, or ask for fewer choices", own(echo), own(maxEcho))
	case len(p.subs) > 1 && scores > maxScores:
		return invalid(p.name("n"), "the response may have %d log probabilities including alternatives; at most %d are allowed; split the request, lower max_tokens, or ask for fewer choices or alternatives", own(scores), own(maxScores))
	}
	return job.parsed(prompts + echo + ofPrompts*scoreBytes + grammar)
}
