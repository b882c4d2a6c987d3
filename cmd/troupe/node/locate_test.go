package node

import (
	"io/fs"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/internal/hub"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/testkit/hubtest"
)

// The embedded model, as a repository of a hub.
func littleRepo(t *testing.T) *hubtest.Repo {
	t.Helper()
	repo := &hubtest.Repo{Name: "org/little", Files: map[string][]byte{}}
	if err := fs.WalkDir(bundled.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			repo.Files[path], err = fs.ReadFile(bundled.FS(), path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return repo
}

// A model by name gives the answers of its files, and starts without the hub the next time.
func TestAModelByName(t *testing.T) {
	h := hubtest.Start(t, littleRepo(t))
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	const body = `{"prompt": "Once upon a time", "max_tokens": 20, "temperature": 0}`
	answer := func(model string, aliases ...string) (id, text string, progress []hub.Progress) {
		t.Helper()
		c := configs.Default()
		c.Model, c.ModelAliases, c.Pool.MaxTotalTokens = model, aliases, 4096
		n, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop(), Fetching: Fetching{Progress: func(name string, p hub.Progress) {
			progress = append(progress, p)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		defer shut(t, n)
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/completions", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		n.API().Handler().ServeHTTP(w, r)
		_, after, _ := strings.Cut(w.Body.String(), `"text":`)
		text, _, _ = strings.Cut(after, `,"logprobs"`)
		return n.Name, text, progress
	}
	_, want, _ := answer("")
	if len(want) < 10 {
		t.Fatalf("the answer is %q", want)
	}
	name, got, progress := answer("org/little")
	if got != want || name != "org/little" || len(progress) < 3 {
		t.Errorf("%s answers %s, want %s; %d reports of progress", name, got, want, len(progress))
	}
	h.Requests()
	t.Setenv("HF_HUB_OFFLINE", "1")
	for model, served := range map[string]string{"org/little": "org/little", "small": "small", "hf.co/org/little": "org/little"} {
		name, got, _ = answer(model, "small=org/little")
		if got != want || name != served {
			t.Errorf("offline: %s answers %s, want %s by %s", name, got, want, served)
		}
	}
	if requests := h.Requests(); len(requests) > 0 {
		t.Errorf("offline: %+v", requests)
	}
	// What is neither a file nor on the hub.
	for model, want := range map[string]string{"org/none": "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set", "./none": "none", "a/b/c": "a/b/c"} {
		c := configs.Default()
		c.Model = model
		if _, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", model, err)
		}
	}
}

// A model of another architecture is refused before its weights are downloaded.
func TestAnotherArchitectureIsNotDownloaded(t *testing.T) {
	repo := littleRepo(t)
	repo.Files["config.json"] = []byte(`{"architectures": ["MambaForCausalLM"], "model_type": "mamba"}`)
	h := hubtest.Start(t, repo)
	t.Setenv("HF_ENDPOINT", h.URL)
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	c := configs.Default()
	c.Model = "org/little"
	_, err := Open(t.Context(), Options{Config: c, Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "MambaForCausalLM") {
		t.Errorf("the error is %v", err)
	}
	for _, r := range h.Requests() {
		if strings.Contains(r.Path, "safetensors") {
			t.Errorf("%s was requested", r.Path)
		}
	}
}

// An alias of a directory on this machine means the directory, even if a model of the hub
// could have this name.
func TestAnAliasOfADirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("org/little", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HF_HUB_CACHE", t.TempDir())
	t.Setenv("HF_HUB_OFFLINE", "1")
	c := configs.Default()
	c.Model, c.ModelAliases = "small", []string{"small=org/little"}
	if path, name, err := (Fetching{}).locate(t.Context(), c); err != nil || path != "org/little" || name != "small" {
		t.Errorf("%s by the name %s, %v", path, name, err)
	}
}

// Without a home directory the error names the variable to set.
func TestAModelByNameWithoutAHome(t *testing.T) {
	for _, name := range []string{"HOME", "USERPROFILE", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	if _, err := (Fetching{}).Hub("org/little"); err == nil || !strings.Contains(err.Error(), "set HF_HOME") {
		t.Errorf("%v", err)
	}
}
