package messages

import (
	"reflect"
	"slices"
	"time"
)

// EngineRequest is one choice of one prompt, as the engine sees it. Frozen: a
// resubmission after a crash is a new value with a longer Output.
type EngineRequest struct {
	ID RequestID
	// Prompt has at least one token, Output what was accepted before this submission.
	// Penalties, limits and the positions of random draws depend on the boundary.
	Prompt, Output []int32
	Params         *SamplingParams
	// Namespace separates prefixes (cache_salt, extra_key, the client's key): only
	// requests with equal namespaces share KV.
	Namespace string
	// Priority is the user's; higher goes first. For the priority policy and preemption.
	Priority int32
	// Tenant is the account that the request is charged to under the fair policy
	// (API key or user); "" is the tenant of all requests without a name.
	Tenant string
	// Fingerprint is that of the engine that computed Output; "" without Output.
	Fingerprint string
	// Arrived is when intake first accepted the request, on the engine's clock.
	Arrived time.Duration
	// Alone: no other request may be in a step with this one until it gets a token,
	// because it was in too many crashes without progress.
	Alone bool
}

// Len is the number of tokens known so far, prompt and output.
func (r *EngineRequest) Len() int { return len(r.Prompt) + len(r.Output) }

// WantsPromptLogprobs reports whether the log probabilities of the prompt must be
// computed. For a request with output this was done by an earlier submission.
func (r *EngineRequest) WantsPromptLogprobs() bool {
	return r.Params != nil && r.Params.PromptLogprobs >= 0 && len(r.Output) == 0
}

// MatchLimit is how many of the known tokens may come from the cache. One token must be
// computed to sample the next. The log probability of position i needs the computation
// of position i-1, unless the prompt's were reported before.
func (r *EngineRequest) MatchLimit(known int, reported bool) int {
	if reported || !r.WantsPromptLogprobs() {
		return known - 1
	}
	return min(known-1, max(0, r.Params.PromptLogprobStart-1))
}

// Requests are the requests that a message lists, each once: the elements of its slices
// that are ids or EngineRequests, or have an ID. They are the suspects if it fails. Of
// messages about a step, which list rows, sender and receiver know the requests.
func Requests(msg any) []RequestID {
	m := reflect.Indirect(reflect.ValueOf(msg))
	if m.Kind() != reflect.Struct {
		return nil
	}
	var ids []RequestID
	for _, list := range m.Fields() {
		if list.Kind() != reflect.Slice {
			continue
		}
		for i := range list.Len() {
			id := reflect.Indirect(list.Index(i))
			if id.Kind() == reflect.Struct {
				id = id.FieldByName("ID")
			}
			if id.IsValid() && id.Type() == reflect.TypeFor[RequestID]() {
				ids = append(ids, RequestID(id.Uint()))
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
