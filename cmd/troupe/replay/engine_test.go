package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

func TestReplayEngines(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	picture := filepath.Join(t.TempDir(), "out.svg")
	args := []string{"replay", "--trace", path, "--format", "mooncake", "--gpu", "L4", "--model-shape", "llama-3.2-1b", "--replicas", "2", "--plot", picture, "--json"}
	out := mustRun(t, "", args...)
	if again := mustRun(t, "", args...); again != out {
		t.Error("two replays print different reports")
	}
	var report struct {
		Setup    map[string]any `json:"setup"`
		Requests struct {
			Finished int `json:"finished"`
		} `json:"requests"`
		Tokens struct {
			Prompt, Cached, Output int
		} `json:"tokens"`
		Replicas []any `json:"replicas"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Requests.Finished != 3 || report.Tokens.Prompt != 3600 || report.Tokens.Output != 3 || len(report.Replicas) != 2 {
		t.Errorf("%+v", report)
	}
	if report.Setup["gpu"] != "l4" || report.Setup["routing"] != "cache-aware" || report.Setup["page_size"] != 64.0 {
		t.Errorf("setup %v", report.Setup)
	}
	if svg, err := os.ReadFile(picture); err != nil || !strings.Contains(string(svg), "KV pages") {
		t.Errorf("the picture: %v", err)
	}
	text := mustRun(t, "", "replay", "--trace", path, "--format", "mooncake", "--limit", "2", "--speed", "2", "--policy", "lpm")
	for _, want := range []string{"llama-3.1-8b on h200", "2 finished", "tokens  ", "TTFT", "simulated in"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

// A policy without anything to order by is noted once: in the text, or in JSON and on
// stderr.
func TestReplayNotesWhatATraceLacks(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		var out, diagnostics bytes.Buffer
		args := []string{"replay", "--trace", commandline.File(t, "small.jsonl", smallTrace), "--format", "mooncake", "--policy", "fair", "--json=" + fmt.Sprint(asJSON)}
		if err := commandline.Execute(t.Context(), cli.Root("test", New()), "", &out, &diagnostics, args...); err != nil {
			t.Fatal(err)
		}
		const note = "note: --policy fair works like fcfs"
		if !asJSON {
			if strings.Count(out.String(), note) != 1 || diagnostics.Len() != 0 {
				t.Errorf("%s\nand on stderr %s", out.String(), diagnostics.String())
			}
			continue
		}
		var report struct{ Warnings []string }
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Warnings) != 1 || diagnostics.String() != "note: "+report.Warnings[0]+"\n" || !strings.HasPrefix(diagnostics.String(), note) {
			t.Errorf("%q and on stderr %q", report.Warnings, diagnostics.String())
		}
	}
}

func TestReplayTakesAModelsShape(t *testing.T) {
	dir := t.TempDir()
	text := `{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
		"num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6,
		"rope_theta": 1000000.0, "hidden_act": "silu", "tie_word_embeddings": true, "torch_dtype": "bfloat16"}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := mustRun(t, "", "replay", "--trace", commandline.File(t, "small.jsonl", smallTrace), "--format", "mooncake", "--model-config", dir, "--gpu", "a10g", "--json")
	// 24 layers × 2 heads × 64 × 2 × 2 bytes = 12 KiB a token: the pool of an
	// A10G holds more than a million.
	var report struct {
		Setup struct {
			Model    string `json:"model"`
			KVTokens int    `json:"kv_tokens"`
		} `json:"setup"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Setup.Model != filepath.Base(dir) || report.Setup.KVTokens < 1<<20 || report.Setup.KVTokens > 2<<20 {
		t.Errorf("%+v", report.Setup)
	}
}

func TestReplayEnginesRefuses(t *testing.T) {
	path := commandline.File(t, "small.jsonl", smallTrace)
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--gpu", "h20"}, "--gpu: gpu \"h20\" is not known; use one of h200, h100, a100"},
		{[]string{"--gpu", "h20"}, "did you mean h200?"},
		{[]string{"--model-shape", "llama"}, "use one of llama-3.1-8b"},
		{[]string{"--model-config", dir}, "config.json"},
		{[]string{"--page-size", "48"}, "--page-size is 48; it must be a power of two"},
		{[]string{"--kv-tokens", "1024"}, "line 1 of the trace: a request of 1500 tokens of prompt and 1 of output does not fit into a KV pool of 1024 tokens; raise --kv-tokens"},
		{[]string{"--kv-tokens", "32"}, "less than one page"},
		{[]string{"--replicas", "0x"}, "--replicas"},
		{[]string{"--replicas", "-2"}, "--replicas is -2"},
		{[]string{"--replicas", "2", "--routing", "sticky"}, "use one of cache-aware"},
		{[]string{"--policy", "fastest"}, "--policy: schedule-policy \"fastest\" is not known; use one of fcfs"},
		{[]string{"--eviction", "lru,lfu"}, "--eviction has 2 policies"},
		{[]string{"--eviction", "belady"}, "--eviction: eviction policy \"belady\" is not known"},
		{[]string{"--speed", "0"}, "--speed is 0"},
		{[]string{"--replicas", "0"}, "--replicas is 0"},
		{[]string{"--page-size", "0"}, "--page-size is 0"},
		{[]string{"--schedule-aging", "-1s"}, "--schedule-aging is -1s"},
		{[]string{"--limit", "-1"}, "--limit is -1"},
		{[]string{"--capacity", "10"}, "--capacity requires --cache-only"},
		{[]string{"--cache-only", "--gpu", "h100"}, "--gpu has no effect with --cache-only"},
		{[]string{"--plot", "out.pdf"}, "must end in .svg or .png"},
		{[]string{"--plot", filepath.Join(dir, "no", "out.svg")}, "does not exist"},
		{[]string{"--chunked-prefill-size", "20000"}, "raise the second"},
		{[]string{"--max-prefill-tokens", "1000000000000"}, "it must be between 1 and 16777216"},
		{[]string{"--mem-fraction-static", "0.05"}, "16.0 MiB. Set mem-fraction-static 0.12"},
	} {
		args := append([]string{"replay", "--trace", path, "--format", "mooncake"}, c.args...)
		if _, err := run(t, "", args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}
