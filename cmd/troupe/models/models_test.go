package models

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// run executes a command line.
func run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	return runWith(t.Context(), args...)
}

func runWith(ctx context.Context, args ...string) (out string, err error) {
	var text bytes.Buffer
	root := cli.Root("test", New()...)
	root.SetArgs(args)
	root.SetOut(&text)
	root.SetErr(&text)
	err = root.ExecuteContext(ctx)
	return text.String(), err
}

// A model is pulled, listed, shown and removed. The config.json beside GGUF files does not
// matter, although Troupe could not serve it.
func TestAModelsLife(t *testing.T) {
	mamba := []byte(`{"model_type": "mamba"}`)
	h := hubtest.Start(t, &hubtest.Repo{Name: "org/mamba", Files: map[string][]byte{"config.json": mamba, "tokenizer.json": []byte("{}"), "model.safetensors": []byte("x")}},
		&hubtest.Repo{Name: "org/little", Files: map[string][]byte{"config.json": mamba, "a-Q4_K_M.gguf": bytes.Repeat([]byte("a"), 5000), "a-Q8_0.gguf": bytes.Repeat([]byte("b"), 9000)}})
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Setenv("TROUPE_MODEL_ALIASES", "short=org/little:Q8_0")
	for _, step := range []struct {
		args string
		want []string // in the output or in the error
		fail bool
	}{
		{"list", []string{"no models are in the cache; troupe pull ORG/REPO downloads one"}, false},
		{"pull org/little", []string{"org/little: 4.9 KiB, downloaded 4.9 KiB", "a-Q4_K_M.gguf"}, false},
		{"pull org/little", []string{"already in the cache"}, false},
		{"pull short", []string{"org/little:Q8_0: 8.8 KiB, downloaded 8.8 KiB"}, false},
		{"list", []string{"MODEL", "org/little", "13.7 KiB"}, false},
		{"list --json", []string{`"bytes": 14000`}, false},
		{"show org/little", []string{"a-Q4_K_M.gguf", "a-Q8_0.gguf", "main"}, false},
		{"show short --json", []string{`"path": "a-Q8_0.gguf"`}, false},
		{"rm short", []string{"removed org/little:Q8_0: 8.8 KiB freed"}, false},
		{"rm org/little", []string{"removed org/little: 4.9 KiB freed"}, false},
		{"pull org/mamba", []string{"mamba"}, true},
		{"list", []string{"org/mamba", "no weights that Troupe can load"}, false},
		{"list --json", []string{`"has_weights": false`}, false},
		{"rm org/mamba", []string{"removed org/mamba"}, false},
		{"list", []string{"no models are in the cache"}, false},
		{"show org/little", []string{"org/little is not in the cache", "troupe list"}, true},
		{"pull", []string{"pull needs one model"}, true},
		{"pull ./x", []string{"write ORG/REPO"}, true},
		{"pull org/none", []string{"there is no model org/none on"}, true},
	} {
		out, err := run(t, strings.Fields(step.args)...)
		if err != nil {
			out += err.Error()
		}
		if (err != nil) != step.fail {
			t.Errorf("troupe %s: %v", step.args, err)
		}
		for _, want := range step.want {
			if !strings.Contains(out, want) {
				t.Errorf("troupe %s prints %q, want %q", step.args, out, want)
			}
		}
	}
}

// A pull that is interrupted says how to go on.
func TestAnInterruptedPull(t *testing.T) {
	h := hubtest.Start(t, &hubtest.Repo{Name: "org/little", Files: map[string][]byte{"a.gguf": bytes.Repeat([]byte("a"), 5000)}})
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	h.SetFault(hubtest.OnFiles(func(*hubtest.Call) bool { cancel(); return false }))
	out, err := runWith(ctx, "pull", "org/little")
	if !errors.Is(err, context.Canceled) || !strings.Contains(out, "Run the same command again to continue.") {
		t.Errorf("%v: %q", err, out)
	}
}
