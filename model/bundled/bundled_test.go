package bundled

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// maxWeights is the size limit of model.safetensors in bytes.
const maxWeights = 4_000_000

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(FS(), name)
	if err != nil {
		t.Fatalf("the embedded model lacks %s: %v", name, err)
	}
	return data
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(read(t, name), into); err != nil {
		t.Fatalf("%s is not valid JSON: %v", name, err)
	}
}

func TestWeightsMatchHashAndLimit(t *testing.T) {
	weights := read(t, "model.safetensors")
	if len(weights) > maxWeights {
		t.Errorf("model.safetensors has %d bytes, the limit is %d", len(weights), maxWeights)
	}
	fields := strings.Fields(string(read(t, "SHA256SUMS")))
	if len(fields) != 2 || fields[1] != "model.safetensors" {
		t.Fatalf("SHA256SUMS holds %q, want one hash of model.safetensors", fields)
	}
	sum := sha256.Sum256(weights)
	if got := hex.EncodeToString(sum[:]); got != fields[0] {
		t.Errorf("model.safetensors has SHA-256 %s, SHA256SUMS says %s", got, fields[0])
	}
}

func TestFilesAgree(t *testing.T) {
	var config struct {
		Architectures []string
		Vocab         int `json:"vocab_size"`
		Hidden        int `json:"hidden_size"`
		Context       int `json:"max_position_embeddings"`
		BOS           int `json:"bos_token_id"`
		EOS           int `json:"eos_token_id"`
	}
	decode(t, "config.json", &config)
	if len(config.Architectures) != 1 || config.Architectures[0] != "LlamaForCausalLM" {
		t.Errorf("architectures = %v, want LlamaForCausalLM", config.Architectures)
	}
	if config.Context < 1024 {
		t.Errorf("context = %d tokens, want at least 1024", config.Context)
	}
	var generation struct {
		EOS []int `json:"eos_token_id"`
	}
	decode(t, "generation_config.json", &generation)

	var tokenizer struct {
		Added []struct {
			ID      int
			Content string
		} `json:"added_tokens"`
		Model struct {
			Vocab  map[string]int
			Merges [][]string
		}
	}
	decode(t, "tokenizer.json", &tokenizer)
	if got := len(tokenizer.Model.Vocab) + len(tokenizer.Added); got != config.Vocab {
		t.Errorf("tokenizer has %d tokens, config.json says %d", got, config.Vocab)
	}
	for _, merge := range tokenizer.Model.Merges {
		if _, ok := tokenizer.Model.Vocab[strings.Join(merge, "")]; len(merge) != 2 || !ok {
			t.Errorf("merge %q has no token", merge)
		}
	}
	ids := map[string]int{}
	for _, token := range tokenizer.Added {
		ids[token.Content] = token.ID
	}
	if ids["<|bos|>"] != config.BOS || ids["<|eos|>"] != config.EOS {
		t.Errorf("config.json has bos %d and eos %d, tokenizer.json %v", config.BOS, config.EOS, ids)
	}
	if want := []int{ids["<|eos|>"], ids["<|end|>"]}; len(generation.EOS) != 2 || generation.EOS[0] != want[0] || generation.EOS[1] != want[1] {
		t.Errorf("generation_config.json ends at %v, want %v", generation.EOS, want)
	}

	weights := read(t, "model.safetensors")
	size := binary.LittleEndian.Uint64(weights)
	if size > uint64(len(weights)-8) {
		t.Fatalf("model.safetensors has %d bytes, its header claims %d", len(weights), size)
	}
	var header map[string]struct {
		DType   string
		Shape   []int
		Offsets []int `json:"data_offsets"`
	}
	if err := json.Unmarshal(weights[8:8+size], &header); err != nil {
		t.Fatalf("header of model.safetensors: %v", err)
	}
	embed := header["model.embed_tokens.weight"]
	if embed.DType != "BF16" || len(embed.Shape) != 2 || embed.Shape[0] != config.Vocab || embed.Shape[1] != config.Hidden {
		t.Errorf("model.embed_tokens.weight is %s %v, want BF16 [%d %d]", embed.DType, embed.Shape, config.Vocab, config.Hidden)
	}
	if !strings.Contains(string(read(t, "chat_template.jinja")), "add_generation_prompt") {
		t.Error("chat_template.jinja does not know add_generation_prompt")
	}
	decode(t, "tokenizer_config.json", &struct{}{})
}

func TestGoldenNamesKnownTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/golden_logits.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			IDs    []int
			TopIDs []int     `json:"top_ids"`
			Logits []float64 `json:"top_logits"`
			Greedy []int
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) == 0 {
		t.Fatal("golden_logits.json has no case")
	}
	for i, c := range golden.Cases {
		if len(c.IDs) == 0 || len(c.TopIDs) != len(c.Logits) || len(c.Greedy) == 0 || c.TopIDs[0] != c.Greedy[0] {
			t.Errorf("case %d is incomplete: %+v", i, c)
		}
	}
}
