package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/testkit/commandline"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// run executes a command line in this process and returns its output.
func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return commandline.Run(t, newRoot(), stdin, args...)
}

func mustRun(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return commandline.MustRun(t, newRoot(), stdin, args...)
}

func TestGenerateRepeatsWithASeed(t *testing.T) {
	args := []string{"generate", "--prompt", "Once upon a time", "--max-tokens", "20", "--temperature", "0.9", "--seed"}
	first, again, other := mustRun(t, "", append(args, "7")...), mustRun(t, "", append(args, "7")...), mustRun(t, "", append(args, "8")...)
	if first != again || first == other || len(first) < 20 {
		t.Errorf("seed 7: %q and %q; seed 8: %q", first, again, other)
	}
	var answer struct {
		Text   string
		Finish string `json:"finish_reason"`
		Usage  struct {
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "", append(args, "7", "--json")...)), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Text+"\n" != first || answer.Finish != "length" || answer.Usage.Completion != 20 {
		t.Errorf("%+v", answer)
	}
}

func TestInspectTokensIsJSONL(t *testing.T) {
	out := mustRun(t, "{\"text\":\"Hello, cat!\"}\n\n{\"text\":\"\"}\n", "inspect", "tokens")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines for 2 texts: %s", len(lines), out)
	}
	var row struct {
		IDs     []int32 `json:"ids"`
		Special []int32 `json:"ids_special"`
		Decode  string  `json:"decode"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &row); err != nil || row.Decode != "Hello, cat!" || len(row.IDs) == 0 || len(row.Special) < len(row.IDs) {
		t.Errorf("%s: %v", lines[0], err)
	}
	out, err := run(t, "{\"text\":\"a\"}\nnonsense\n", "inspect", "tokens")
	if err == nil || !strings.Contains(err.Error(), "line 2") || !strings.Contains(out, `"decode":"a"`) {
		t.Errorf("a bad line gives %v after %q", err, out)
	}
}

func TestInspectTemplateAnswersRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jinja")
	text := "{{ bos_token }}{% for m in messages %}{% if m.role == 'x' %}{{ raise_exception('no x') }}{% endif %}{{ m.content }}{{ mood }}{% endfor %}{{ strftime_now('%Y') }}{{ eos_token }}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in := `{"messages":[{"role":"user","content":"hi"}],"mood":"!"}` + "\n" + `{"messages":[{"role":"x","content":""}]}` + "\n"
	out := mustRun(t, in, "inspect", "template", "--template", file, "--bos", "<B>", "--eos", "<E>", "--now", "2024-07-26 12:00")
	if want := "{\"prompt\":\"<B>hi!2024<E>\"}\n"; !strings.HasPrefix(out, want) || !strings.Contains(out, `{"error":`) || !strings.Contains(out, "no x") {
		t.Errorf("got %s", out)
	}
}

func TestInspectShowsSettingsAndHidesKeys(t *testing.T) {
	out := mustRun(t, "", "inspect", "config", "--api-key", "secret", "--admin-api-key", "supersecret", "--port", "4000")
	if strings.Contains(out, "secret") || !strings.Contains(out, "flag --port") {
		t.Errorf("inspect config prints\n%s", out)
	}
	if out := mustRun(t, "", "inspect", "memory"); !strings.Contains(out, "KV pool") {
		t.Errorf("inspect memory prints\n%s", out)
	}
	// 6 layers, 2 KV heads of 32 elements and a scale: 864 bytes a token.
	out = mustRun(t, "", "inspect", "memory", "--memory", "80GiB", "--kv-cache-dtype", "int8")
	if !strings.Contains(out, "6 layers × 2 KV heads × 2 (K, V) × (32 head dim × 1 bytes + 4 for the scale)") || !strings.Contains(out, "864") {
		t.Errorf("inspect memory with int8 prints\n%s", out)
	}
}

func TestErrorsSayWhatWhereAndTheRemedy(t *testing.T) {
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no such model":    {[]string{"generate", "--model", "/no/such/model"}, []string{"/no/such/model", "Hugging Face"}},
		"empty directory":  {[]string{"generate", "--model", empty}, []string{"config.json"}},
		"temperature":      {[]string{"generate", "--temperature", "9"}, []string{"--temperature", "between 0 and 2"}},
		"flag of a type":   {[]string{"serve", "--port", "x"}, []string{`--port is "x"`, "a whole number"}},
		"unknown flag":     {[]string{"serve", "--prot", "1"}, []string{"--prot", "did you mean --port?"}},
		"unknown command":  {[]string{"server"}, []string{`unknown command "server"; did you mean troupe serve?`}},
		"nothing is near":  {[]string{"foo"}, []string{`unknown command "foo"; ` + "`troupe --help` lists the commands"}},
		"near in a group":  {[]string{"bench", "kernel"}, []string{"did you mean troupe bench kernels?"}},
		"command and flag": {[]string{"srve", "--port", "1"}, []string{`unknown command "srve"; did you mean troupe serve?`}},
		"with a target":    {[]string{"cluster", "drian", "x", "--reason", "y"}, []string{`unknown command "drian"; did you mean troupe cluster drain?`}},
		"flag of a group":  {[]string{"cluster", "--reason", "y"}, []string{"unknown flag: --reason"}},
		"a node as such":   {[]string{"cluster", "status", "engine-1"}, []string{"cluster status takes no arguments; give the node with --node engine-1 or the url with --url engine-1"}},
		"no address":       {[]string{"inspect", "memory", "--url", ""}, []string{"--url: the address of the server is empty; use for example http://127.0.0.1:30000"}},
		"no such view":     {[]string{"inspect", "nosuch"}, []string{"nosuch", "`troupe inspect --help`"}},
		"a model as such":  {[]string{"serve", "model.gguf"}, []string{"model model.gguf: ", "no such file"}},
		"two models":       {[]string{"serve", "a", "b"}, []string{"serve takes one model", `remove "b"`}},
		"a model twice":    {[]string{"serve", "a", "--model", "b"}, []string{"the model is given twice, as a and by --model"}},
		"a text as such":   {[]string{"generate", "a cat"}, []string{`generate takes no arguments; give the model with --model "a cat" or the prompt with --prompt "a cat"`}},
		"an argument":      {[]string{"bench", "model", "m"}, []string{"bench model takes no arguments; give the model with --model m"}},
		"no use for it":    {[]string{"version", "2"}, []string{"version takes no arguments; remove 2"}},
		"bad page size":    {[]string{"inspect", "memory", "--page-size", "3"}, []string{"page-size", "power of two"}},
		"tokens missing":   {[]string{"inspect", "logits"}, []string{"--tokens is missing; give token ids"}},
		"token of another": {[]string{"inspect", "logits", "--tokens", "99999"}, []string{"99999"}},
		"context too long": {[]string{"generate", "--context-length", "100000"}, []string{"context", "1024"}},
		"pool too small":   {[]string{"generate", "--max-total-tokens", "1"}, []string{"max-total-tokens"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, "", c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

// llama2.c's own test: 200 greedy tokens of stories260K from BOS.
func TestConformanceStories260K(t *testing.T) {
	dir := conformance.Path(t, "weights", "stories260k")
	want, err := os.ReadFile(filepath.Join(dir, "llama2c_greedy200_expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hf-f32", "stories260K-f32.gguf", "stories260K-f16.gguf"} {
		got := mustRun(t, "", "generate", "--model", filepath.Join(dir, name), "--max-tokens", "200", "--temperature", "0")
		if got != string(want) {
			t.Errorf("%s: got\n%q, want\n%q", name, got, want)
		}
	}
}

// The logits that llama.cpp computes, through the command line.
func TestConformanceLogits(t *testing.T) {
	weights := conformance.Path(t, "weights")
	for _, c := range []struct {
		model, golden string
		tolerance     float64
	}{
		{"stories260k/hf-f32", "stories260k/golden_logits.jsonl", 1e-4},
		{"fixtures/tiny-llama", "fixtures/golden_logits_tiny-llama.jsonl", 1e-4},
		{"fixtures/tiny-qwen2", "fixtures/golden_logits_tiny-qwen2.jsonl", 2e-4},
	} {
		t.Run(c.model, func(t *testing.T) {
			worst, goldens := 0.0, conformance.Lines[conformance.Logits](t, filepath.Join(weights, c.golden))
			for i, g := range goldens {
				if len(g.Last) == 0 {
					t.Fatalf("golden %d has no logits", i)
				}
				out := mustRun(t, "", "inspect", "logits", "--model", filepath.Join(weights, c.model), "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(g.IDs), " ", ","), "[]"))
				var got struct{ Logits [][]float64 }
				if err := json.Unmarshal([]byte(out), &got); err != nil {
					t.Fatal(err)
				}
				for i, want := range g.Last {
					worst = max(worst, math.Abs(got.Logits[len(g.IDs)-1][i]-want))
				}
			}
			t.Logf("%d prompts, greatest difference %.2g", len(goldens), worst)
			if !(worst < c.tolerance) {
				t.Errorf("%d prompts differ by up to %g, want less than %g", len(goldens), worst, c.tolerance)
			}
		})
	}
}

func TestLFSPointersAreNamed(t *testing.T) {
	pointer := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3894008\n")
	for _, name := range []string{"model.safetensors", "tokenizer.json"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, bundled.FS()); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), pointer, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, "", "generate", "--model", dir); err == nil || !strings.Contains(err.Error(), "git lfs pull") || !strings.Contains(err.Error(), name) {
			t.Errorf("a pointer in place of %s gives %v", name, err)
		}
	}
}

// With an empty API key, for example from an unset variable, the server does not start.
func TestAnEmptyKeyEndsTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a server that starts anyway ends at once
	for _, c := range []struct{ flag, variable, want string }{
		{flag: "--api-key=", want: "api-key (flag --api-key) is empty"},
		{flag: "--admin-api-key=", want: "admin-api-key (flag --admin-api-key) is empty"},
		{variable: "TROUPE_API_KEY", want: "api-key (environment TROUPE_API_KEY) is empty"},
		{variable: "TROUPE_ADMIN_API_KEY", want: "admin-api-key (environment TROUPE_ADMIN_API_KEY) is empty"},
	} {
		t.Run(c.want, func(t *testing.T) {
			args := []string{"serve", "--port", "0"}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			if c.variable != "" {
				t.Setenv(c.variable, "")
			}
			if err := commandline.Execute(ctx, newRoot(), "", io.Discard, io.Discard, args...); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "unset it, or give a key") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
