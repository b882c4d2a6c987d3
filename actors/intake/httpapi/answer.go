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

// answerSize bounds what a call asks for, and gives the bytes that are sure to
// come: echoes, and the log probabilities of prompts. copies is how often the
// answer has those of a prompt.
func (m *Model) answerSize(subs []messages.Submission, prompts []prompt, copies int, n string) (int, *apiError) {
	of, outputs := 0, 0
	for i := range subs {
		s := &subs[i]
		if p := s.Params; p.PromptLogprobs != messages.NoLogprobs {
			of += copies * max(0, len(s.Prompt)-p.PromptLogprobStart) * (p.PromptLogprobs + 1)
		}
		if p := s.Params; p.TopLogprobs != messages.NoLogprobs {
			outputs += max(0, min(p.MaxTokens, m.Context-len(s.Prompt))) * (p.TopLogprobs + 1)
		}
	}
	if echo := copies * textBytes(prompts); echo > maxEcho {
		return 0, invalid(n, "the echoes of the prompts would have %d bytes, once for each choice, and at most %d are answered in one call; split it, or ask for fewer choices", own(echo), own(maxEcho))
	} else if scores := of + outputs; len(subs) > 1 && scores > maxScores {
		return 0, invalid(n, "the answer may have %d log probabilities, alternatives included, and at most %d are answered in one call; split it, lower max_tokens, or ask for fewer choices or alternatives", own(scores), own(maxScores))
	} else {
		return of*scoreBytes + echo, nil
	}
}
