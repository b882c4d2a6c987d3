package httpapi

import "github.com/troupe-engine/troupe/messages"

// Bounds of an answer: a short body can ask for a very long one.
const (
	// maxScores bounds the log probabilities that a call of several choices may
	// ask for, alternatives included. A single choice may have them for as many
	// tokens as fit into the context.
	maxScores = 1 << 20
	// maxEcho bounds the bytes of echoed prompts, once for each choice.
	maxEcho = 16 << 20
	// scoreBytes is what a log probability takes until its answer is out.
	scoreBytes = 256
)

// prepared ends the parsing of a call: it bounds what the call asks for, gives
// the place back, and charges what the call holds until its answer is out. That
// is its prompts, and what is sure to come: echoes, and the log probabilities of
// prompts. copies is how often the answer has those of a prompt; n is the
// parameter that a refusal is about.
func (s *Server) prepared(job *work, subs []messages.Submission, prompts []prompt, copies int, n string) *apiError {
	ofPrompts, ofOutputs := 0, 0
	for i := range subs {
		tokens, p := len(subs[i].Prompt), subs[i].Params
		if p.PromptLogprobs != messages.NoLogprobs {
			ofPrompts += copies * max(0, tokens-p.PromptLogprobStart) * (p.PromptLogprobs + 1)
		}
		if p.TopLogprobs != messages.NoLogprobs {
			ofOutputs += max(0, min(p.MaxTokens, s.Model.Context-tokens)) * (p.TopLogprobs + 1)
		}
	}
	echo, scores := copies*textBytes(prompts), ofPrompts+ofOutputs
	switch {
	case echo > maxEcho:
		return invalid(n, "echoing the prompts once per choice takes %d bytes, but at most %d are allowed in one call; split the call, or ask for fewer choices", own(echo), own(maxEcho))
	case len(subs) > 1 && scores > maxScores:
		return invalid(n, "the answer may have %d log probabilities including alternatives, but at most %d are allowed in one call; split the call, lower max_tokens, or ask for fewer choices or alternatives", own(scores), own(maxScores))
	}
	return job.parsed(held(subs) + echo + ofPrompts*scoreBytes)
}
