package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/testkit/clients/testserver"
)

// Short bodies with very long answers.
func TestLongAnswersAreRefused(t *testing.T) {
	s := testserver.Start(t, testserver.Options{Context: 1 << 14, PageSize: 16, Pages: 1 << 11})
	ids := make([]int, 3000)
	refuse(t, s, "/v1/completions", map[string]badBody{
		"scores of a prompt, for each choice": {object{"prompt": ids, "n": 128, "echo": true, "logprobs": 5, "max_tokens": 1}, 400, "n", nil, "at most 1048576"},
		"scores of outputs":                   {object{"prompt": "a", "n": 128, "logprobs": 5, "max_tokens": 2000}, 400, "n", nil, "at most 1048576"},
		"scores without a limit":              {object{"prompt": "a", "n": 128, "logprobs": 5}, 400, "n", nil, "lower max_tokens"},
		"echoes":                              {object{"prompt": strings.Repeat(" beautiful", 13_500), "n": 128, "echo": true, "max_tokens": 1}, 400, "n", nil, "at most 16777216"},
	})
	refuse(t, s, "/generate", map[string]badBody{
		"scores of prompts": {object{"input_ids": list{ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids, ids}, "return_logprob": true,
			"logprob_start_len": 0, "top_logprobs_num": 20, "sampling_params": object{"max_new_tokens": 1}}, 400, "sampling_params.n", nil, "at most 1048576"},
	})
	refuse(t, s, "/v1/chat/completions", map[string]badBody{
		"scores": {object{"messages": hello, "n": 100, "logprobs": true, "top_logprobs": 20}, 400, "n", nil, "at most 1048576"},
	})
	for _, body := range []object{
		{"prompt": ids, "n": 16, "echo": true, "logprobs": 5, "max_tokens": 1},
		{"prompt": "a", "logprobs": 5, "max_tokens": 20}, // one choice may have as many as fit
	} {
		if a := send(t, s, "POST", "/v1/completions", body); a.status != http.StatusOK {
			t.Errorf("%d %.200s", a.status, a.body)
		}
	}
}
