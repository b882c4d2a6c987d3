package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz"
)

// Text is a line of tokenizers/*.vectors.jsonl: a text and what reference
// implementations make of it.
type Text struct {
	Text       string  `json:"text"`
	IDs        []int32 `json:"ids"`         // special tokens in the text parsed, none added
	IDsSpecial []int32 `json:"ids_special"` // the tokenizer's own added
	Decode     string  `json:"decode"`      // of IDs
	DecodeSkip string  `json:"decode_skip"` // of IDs without special tokens; tok512 lacks it
}

// Logits is a line of weights/*/golden_logits*.jsonl: what another engine
// computes for a prompt.
type Logits struct {
	IDs    []int32       `json:"ids"`
	Last   []float64     `json:"last_logits"`  // [vocab], of the last position
	Top8   [][][]float64 `json:"top8_per_pos"` // per position (token, logit, logprob)
	Greedy []int32       `json:"greedy"`       // what follows at temperature 0
}

// Schema is a line of structured/maskbench.jsonl.xz: a schema, and what it accepts and rejects.
type Schema struct {
	Name       string          `json:"name"`
	LLGuidance string          `json:"llguidance"` // pass, refused or wrong
	Schema     json.RawMessage `json:"schema"`
	Tests      []struct {
		Valid bool            `json:"valid"`
		Data  json.RawMessage `json:"data"`
	} `json:"tests"`
}

// Schemas reads MaskBench.
func Schemas(t testing.TB) []Schema {
	t.Helper()
	return Lines[Schema](t, Path(t, "structured", "maskbench.jsonl.xz"))
}

// Lines reads a file of JSON values, one a line; its name ends in .xz if it is packed. There is
// at least one.
func Lines[V any](t testing.TB, file string) []V {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var from io.Reader = f
	if filepath.Ext(file) == ".xz" {
		if from, err = xz.NewReader(f); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var all []V
	for d := json.NewDecoder(from); ; {
		var v V
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s, line %d: %v", file, len(all)+1, err)
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}
