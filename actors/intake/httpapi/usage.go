package httpapi

import "github.com/troupe-engine/troupe/messages"

// usage is the API's count of tokens. cached_tokens is always there, also if it is zero.
type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	CompletionTokens    int `json:"completion_tokens"`
	TotalTokens         int `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails *completionDetails `json:"completion_tokens_details,omitempty"` // of a model that thinks
}

type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// think counts tokens of thoughts, marks included.
func (u *usage) think(tokens int) {
	if u.CompletionTokensDetails == nil {
		u.CompletionTokensDetails = &completionDetails{}
	}
	u.CompletionTokensDetails.ReasoningTokens += tokens
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
