package node

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/testkit/racedetector"
)

// paddedGGUF is a model of random weights. Its tokenizer has the first ids of the vocabulary.
func paddedGGUF(t testing.TB, vocab, tokenizer int) string {
	t.Helper()
	f := ggufwrite.Model{Arch: "qwen2", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: vocab, Context: 64, Type: gpu.F16}.File()
	for i, k := range f.Keys {
		switch list := k.Value.(type) {
		case []string:
			f.Keys[i].Value = list[:min(tokenizer, len(list))]
		case []int32:
			f.Keys[i].Value = list[:min(tokenizer, len(list))]
		}
	}
	f.Keys = append(f.Keys, ggufwrite.Keys("tokenizer.chat_template", otherTemplate, "tokenizer.ggml.eos_token_id", uint32(7))...)
	path := filepath.Join(t.TempDir(), "padded.gguf")
	if err := ggufwrite.Create(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

// clusteredSettings are of a node with a role, that joins others.
func clusteredSettings(t testing.TB, role string, join ...string) *configs.Config {
	t.Helper()
	c := settings(t)
	c.Cluster.Role, c.Cluster.Node, c.Cluster.Listen, c.Cluster.Join = role, "a "+role, "127.0.0.1:0", join
	return c
}

// openGateway starts a gateway and waits until it has the engine.
func openGateway(t *testing.T, engine *Node) *Node {
	t.Helper()
	n := open(t, clusteredSettings(t, "gateway", engine.ClusterAddress()), nil)
	happened(t, n, "linked")
	return n
}

// post sends a body and returns the answer.
func post(t *testing.T, h http.Handler, path string, sent body) []byte {
	t.Helper()
	data, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(string(data)))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %.300s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// ask returns the answer to a body without what differs from call to call.
func ask(t *testing.T, h http.Handler, path string, sent body) string {
	t.Helper()
	answer := post(t, h, path, sent)
	var got struct {
		Choices []struct {
			Text     string          `json:"text"`
			Message  json.RawMessage `json:"message"`
			Logprobs json.RawMessage `json:"logprobs"`
		} `json:"choices"`
		Text string  `json:"text"`
		IDs  []int32 `json:"output_ids"`
		Meta struct {
			In  json.RawMessage `json:"input_top_logprobs"`
			Out json.RawMessage `json:"output_top_logprobs"`
		} `json:"meta_info"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatalf("%s: %v in %.300s", path, err, answer)
	}
	text, err := json.Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A model whose vocabulary is larger than its tokenizer's samples ids that no text has. A
// gateway gives them as one process does.
func TestAVocabularyLargerThanTheTokenizers(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("starting several remotes in one process is a race of the runtime: each replaces grpc's logger")
	}
	c := clusteredSettings(t, "engine")
	c.Model = paddedGGUF(t, 3000, 300)
	alone := settings(t)
	alone.Model = c.Model
	one := open(t, alone, nil).API().Handler()
	gateway := openGateway(t, open(t, c, nil)).API().Handler()
	for path, b := range map[string]body{
		"/generate": {"input_ids": []int{40, 41, 42}, "return_logprob": true, "logprob_start_len": 0, "top_logprobs_num": 20, "return_text_in_logprobs": true,
			"sampling_params": body{"max_new_tokens": 30, "ignore_eos": true, "temperature": 0}},
		"/v1/completions":      {"prompt": "Once", "max_tokens": 30, "logprobs": 5, "echo": true, "seed": 4, "temperature": 1},
		"/v1/chat/completions": {"messages": []body{{"role": "user", "content": "hi"}}, "max_tokens": 30, "logprobs": true, "top_logprobs": 20, "seed": 4},
	} {
		want := ask(t, one, path, b)
		if got := ask(t, gateway, path, b); got != want {
			t.Errorf("%s: a gateway answers\n%s, one process\n%s", path, got, want)
		}
	}
}

// What bounds an engine's results does not depend on this node's own pool or tokenizer.
func TestLimitsOfResultsAreTheModels(t *testing.T) {
	c := clusteredSettings(t, "both")
	c.Model, c.Pool.MaxTotalTokens = paddedGGUF(t, 3000, 300), 32
	n := open(t, c, nil)
	if got, want := n.cluster.own().GatewayModel.Limits, wireLimits(64, 3000); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
	if got := n.cluster.own().served.Model.Context; got != 64 {
		t.Errorf("clients may use a context of %d, want 64: other engines may have a larger pool", got)
	}
	data, m := sent(t, n)
	m.PageSize, m.Running = 16, 8
	m.Name = "another"
	gm, err := n.cluster.OpenModel(t.Context(), m, data)
	if err != nil {
		t.Fatal(err)
	}
	if want := (wire.Limits{Vocab: 3000, Context: 64, Logprobs: 20}); gm.Limits != want {
		t.Errorf("limits of another node's model %+v, want %+v", gm.Limits, want)
	}
}
