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
