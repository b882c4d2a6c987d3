package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// body is a request of /generate.
type body map[string]any

const choicesWanted = 64

// workload returns calls with 64 choices in total: prompts of different lengths with and
// without common prefixes, and every parameter that changes an answer.
func workload() []body {
	r := rand.New(rand.NewPCG(6, 4))
	stems := []string{
		"Once upon a time there was a little fox who lived in the forest. Every day the fox went to the river to look at the water. ",
		"Question: What did the girl find in the garden? Answer: ",
		"The old man had a boat, and the boat had a hole. ",
	}
	var calls []body
	for choices := 0; choices < choicesWanted; {
		i := len(calls)
		stem := stems[i%len(stems)]
		params := body{"temperature": []float64{0, 0.8, 1.2}[i%3], "max_new_tokens": 3 + r.IntN(14), "sampling_seed": r.IntN(1 << 30)}
		call := body{"text": stem[:1+r.IntN(len(stem)-1)] + strings.Repeat(" and then", r.IntN(4)), "sampling_params": params}
		n := 1
		switch i % 8 {
		case 0:
			n = min(3, choicesWanted-choices)
			params["n"] = n
		case 1:
			params["stop"] = []string{"the", ". "}
		case 4:
			params["min_new_tokens"] = 3
		default:
			vary(i%8, call, params)
		}
		if i%3 == 1 {
			for name, text := range grammars[i/3%len(grammars)] {
				params[name] = text
			}
		}
		choices += n
		calls = append(calls, call)
	}
	return calls
}

// grammars constrain a third of the calls. Some end by themselves, some never.
var grammars = []body{
	{"json_schema": `{"type":"object","properties":{"name":{"type":"string","maxLength":9},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","age"]}`},
	{"regex": `[A-Z][a-z]+( [a-z]+){2,}\.`},
	{"ebnf": `root ::= item (", " item)*
			item ::= [a-z]+ | "(" root ")"`},
	{"json_schema": `{"enum":["cat","dog",{"a":[1,2,null]}]}`},
	{"structural_tag": `{"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],"tags":[{"begin":"<f>","content":{"type":"json_schema","json_schema":{"type":"object"}},"end":"</f>"}]}}`},
	{"grammar": `root ::= [^\n]{0,30} "\n"`},
	{"regex": `(The (little|old) (fox|boat) was in the garden|Then [a-z]{1,9} and )+\.`},
}

// answer posts one call and returns the guaranteed parts of the answer, and the cached
// tokens of its first choice.
func answer(h http.Handler, call body) (stable string, cached int, err error) {
	data, err := json.Marshal(call)
	if err != nil {
		return "", 0, err
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/generate", bytes.NewReader(data))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return "", 0, fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	var answer any
	d := json.NewDecoder(w.Body)
	d.UseNumber() // compare the digits, which are those of the exact float32
	if err := d.Decode(&answer); err != nil {
		return "", 0, err
	}
	list, ok := answer.([]any)
	if !ok {
		list = []any{answer}
	}
	for i, choice := range list {
		meta := choice.(map[string]any)["meta_info"].(map[string]any)
		n, err := meta["cached_tokens"].(json.Number).Int64()
		if err != nil {
			return "", 0, err
		}
		if i == 0 {
			cached = int(n)
		}
		for _, varies := range []string{"id", "e2e_latency", "cached_tokens"} {
			delete(meta, varies)
		}
	}
	text, err := json.Marshal(list)
	return string(text), cached, err
}

// answers posts every call at once.
func answers(t *testing.T, h http.Handler, calls []body) []string {
	t.Helper()
	list := make([]string, len(calls))
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { list[i], _, errs[i] = answer(h, call) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("call %d, %v: %v", i, calls[i], err)
		}
	}
	return list
}

// vary gives a call and its sampling parameters one of the kinds of features.
func vary(kind int, call, params body) {
	switch kind {
	case 2:
		params["frequency_penalty"], params["presence_penalty"], params["repetition_penalty"] = 0.7, 0.3, 1.2
	case 3:
		params["logit_bias"] = map[string]float64{"300": 4, "301": 3.5, "17": -100}
	case 5:
		call["return_logprob"], call["top_logprobs_num"] = true, 3
	case 6:
		params["top_k"], params["top_p"], params["min_p"] = 40, 0.9, 0.02
	case 7:
		call["return_logprob"], call["logprob_start_len"] = true, 0
	}
}
