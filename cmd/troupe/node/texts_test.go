package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/troupe-engine/troupe/actors/intake/httpapi"
	"github.com/troupe-engine/troupe/cluster/wire"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/gpu"
	"github.com/troupe-engine/troupe/lab/ggufwrite"
	"github.com/troupe-engine/troupe/model/bundled"
	"github.com/troupe-engine/troupe/model/chat"
	"github.com/troupe-engine/troupe/model/tokenizer"
	"github.com/troupe-engine/troupe/testkit/conformance"
)

// textNode has the model and its texts, and neither device nor engine.
func textNode(t testing.TB, c *configs.Config) *Node {
	t.Helper()
	n, err := openSteps(t.Context(), Options{Config: c, Log: zerolog.Nop()}, (*Node).openModel, (*Node).openText)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, n) })
	return n
}

// sent are a node's texts, and what it says of its model.
func sent(t testing.TB, n *Node) ([]byte, *wire.Model) {
	t.Helper()
	data, hash, err := n.Texts()
	if err != nil {
		t.Fatal(err)
	}
	return data, &wire.Model{Name: n.Name, Texts: hash, Context: int64(n.Checkpoint.Program.Context), Vocab: int64(n.Checkpoint.Program.Vocab)}
}

// changedModel is the embedded model in a directory, with other files; "" removes one.
func changedModel(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.CopyFS(dir, bundled.FS()); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.Remove(path)
		if text != "" {
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const otherTemplate = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}"

// smallGGUF is a model of random weights and a vocabulary of bytes.
func smallGGUF(t testing.TB) string {
	t.Helper()
	f := ggufwrite.Model{Arch: "qwen2", Layers: 1, Hidden: 32, Intermediate: 32, Heads: 2, KVHeads: 1, HeadDim: 16, Vocab: 300, Context: 64, Type: gpu.Q4_0}.File()
	f.Keys = append(f.Keys, ggufwrite.Keys("tokenizer.chat_template", otherTemplate, "tokenizer.ggml.eos_token_id", uint32(7))...)
	path := filepath.Join(t.TempDir(), "small.gguf")
	if err := ggufwrite.Create(path, f); err != nil {
		t.Fatal(err)
	}
	return path
}

var conversations = []string{
	`[]`, `[{"role":"user","content":"hi"}]`,
	`[{"role":"system","content":"be <|im_end|> brief"},{"role":"user","content":"grüße 🎉 <s> </s>"},{"role":"assistant","content":"ok"},{"role":"user","content":""}]`,
	`[{"role":"tool","content":null}]`,
}

// checkGateway compares the model of a gateway with that of the node it is from.
func checkGateway(t *testing.T, n *Node, c *configs.Config) httpapi.Model {
	t.Helper()
	data, m := sent(t, n)
	got, err := ModelFromTexts(data, m, c)
	if err != nil {
		t.Fatal(err)
	}
	want := httpapi.Model{ID: n.Name, Context: n.Checkpoint.Program.Context, Tokenizer: n.Tokenizer, Template: n.Template, EOS: n.EOS()}
	if got.ID != want.ID || got.Context != want.Context || !slices.Equal(got.EOS, want.EOS) {
		t.Errorf("name %s, context %d, EOS %v; the engine has %s, %d, %v", got.ID, got.Context, got.EOS, want.ID, want.Context, want.EOS)
	}
	if defaults := samplingDefaults(c, &n.Checkpoint.Config.Generation); got.Defaults != defaults {
		t.Errorf("defaults %+v; the engine has %+v", got.Defaults, defaults)
	}
	for _, text := range append(conversations, "a\xffb", "  two  spaces\n\n", "don't <|im_start|>", strings.Repeat("na ", 50)) {
		for _, o := range []tokenizer.EncodeOptions{{}, {ParseSpecial: true, AddSpecial: true}} {
			if have, ids := got.Tokenizer.Encode(text, o), want.Tokenizer.Encode(text, o); !slices.Equal(have, ids) {
				t.Errorf("encode %q: %v; the engine gives %v", text, have, ids)
			}
		}
	}
	if (got.Template == nil) != (want.Template == nil) || (got.TemplateFault == nil) != (n.TemplateFault == nil) {
		t.Fatalf("template %v (%v); the engine has %v (%v)", got.Template, got.TemplateFault, want.Template, n.TemplateFault)
	}
	for _, text := range conversations {
		if want.Template == nil {
			break
		}
		messages, err := chat.DecodeJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, special := range []string{httpapi.SpecialTokensText, httpapi.SpecialTokensParse} {
			in := chat.Input{Messages: messages, Now: time.Unix(1e9, 0), AddGenerationPrompt: true}
			have, refused := got.EncodeChat(t.Context(), in, special)
			ids, refusedThere := want.EncodeChat(t.Context(), in, special)
			if !slices.Equal(have, ids) || (refused == nil) != (refusedThere == nil) {
				t.Errorf("%s: %v (%v); the engine gives %v (%v)", text, have, refused, ids, refusedThere)
			}
		}
	}
	return got
}

func TestGatewaysHaveTheModelOfTheEngine(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.jinja")
	if err := os.WriteFile(own, []byte(otherTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		model, template string
		defaults        httpapi.SamplingDefaults
		fault           string
	}{
		"embedded": {defaults: textNode(t, settings(t)).SamplingDefaults()},
		"directory": {model: changedModel(t, map[string]string{
			"generation_config.json": `{"eos_token_id":[5,2],"temperature":0.5,"top_p":0.25,"top_k":3,"min_p":0.125,"repetition_penalty":1.5}`,
			"chat_template.jinja":    "", "additional_chat_templates/default.jinja": otherTemplate,
		}), defaults: httpapi.SamplingDefaults{Temperature: 0.5, TopP: 0.25, TopK: 3, MinP: 0.125, RepetitionPenalty: 1.5}},
		"greedy":        {model: changedModel(t, map[string]string{"generation_config.json": `{"do_sample":false}`}), defaults: httpapi.SamplingDefaults{TopP: 1, RepetitionPenalty: 1}},
		"no generation": {model: changedModel(t, map[string]string{"generation_config.json": ""}), defaults: httpapi.OpenAIDefaults},
		"no template":   {model: changedModel(t, map[string]string{"chat_template.jinja": ""}), defaults: textNode(t, settings(t)).SamplingDefaults()},
		"bad template": {
			model: changedModel(t, map[string]string{"chat_template.jinja": "a\n{% endif %}"}), defaults: textNode(t, settings(t)).SamplingDefaults(),
			fault: "chat template: small/chat_template.jinja line 2",
		},
		"GGUF":               {model: smallGGUF(t), defaults: httpapi.OpenAIDefaults},
		"own template":       {template: own, defaults: textNode(t, settings(t)).SamplingDefaults()},
		"GGUF, own template": {model: smallGGUF(t), template: own, defaults: httpapi.OpenAIDefaults},
	} {
		t.Run(name, func(t *testing.T) {
			config := settings(t)
			config.Model, config.ChatTemplate = c.model, c.template
			got := checkGateway(t, textNode(t, config), settings(t))
			if got.Defaults != c.defaults {
				t.Errorf("defaults %+v, want %+v", got.Defaults, c.defaults)
			}
			if has := name != "no template" && c.fault == ""; has != (got.Template != nil) {
				t.Errorf("template %v", got.Template)
			}
			if fault := fmt.Sprint(got.TemplateFault); c.fault != "" && (!strings.Contains(fault, c.fault) || !strings.HasSuffix(fault, "; start its engines with another one: --chat-template FILE")) {
				t.Errorf("fault %s, want %q", fault, c.fault)
			}
		})
	}
}

// Settings of the engine and the place of its model do not change the hash; its files,
// its template and what they recommend do.
func TestTheHashIsOfTheModel(t *testing.T) {
	hash := func(change func(*configs.Config)) string {
		c := settings(t)
		change(c)
		_, m := sent(t, textNode(t, c))
		return m.Texts
	}
	want := hash(func(*configs.Config) {})
	own := filepath.Join(t.TempDir(), "own.jinja")
	if err := os.WriteFile(own, []byte(otherTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*configs.Config){
		"place":    func(c *configs.Config) { c.Model = changedModel(t, nil) },
		"name":     func(c *configs.Config) { c.ServedModelName = "other" },
		"settings": func(c *configs.Config) { c.SamplingFrom, c.HTTP.SpecialTokens = "openai", httpapi.SpecialTokensParse },
		"weights":  func(c *configs.Config) { c.Open.LoadFormat = "dummy" },
	} {
		if have := hash(change); have != want {
			t.Errorf("%s: the hash is %s, want %s", name, have, want)
		}
	}
	seen := map[string]string{want: "nothing"}
	for name, change := range map[string]func(*configs.Config){
		"template": func(c *configs.Config) { c.ChatTemplate = own },
		"end": func(c *configs.Config) {
			c.Model = changedModel(t, map[string]string{"generation_config.json": `{"eos_token_id":[5]}`})
		},
		"recommended": func(c *configs.Config) {
			c.Model = changedModel(t, map[string]string{"generation_config.json": `{"top_k":5}`})
		},
		"file": func(c *configs.Config) { c.Model = changedModel(t, map[string]string{"added_tokens.json": "{}"}) },
	} {
		have := hash(change)
		if other := seen[have]; other != "" {
			t.Errorf("%s and %s: the hash is %s", name, other, have)
		}
		seen[have] = name
	}
}

func TestSettingsOfTheGatewayCount(t *testing.T) {
	data, m := sent(t, textNode(t, settings(t)))
	c := settings(t)
	c.SamplingFrom = "openai"
	got, err := ModelFromTexts(data, m, c)
	if err != nil || got.Defaults != httpapi.OpenAIDefaults {
		t.Errorf("%+v, %v", got.Defaults, err)
	}

	// A vocabulary with so many kinds of special tokens that text cannot be told from them.
	added := []string{}
	for i := range 64 {
		added = append(added, fmt.Sprintf(`{"id":%d,"content":"%c%[2]c","special":true}`, i+1, rune(0x4e00+i)))
	}
	data, hash := encoded(t, &wire.Texts{Files: map[string][]byte{"tokenizer.json": []byte(
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"added_tokens":[` + strings.Join(added, ",") + `]}`)}})
	m = &wire.Model{Name: "x", Texts: hash, Context: 10, Vocab: 100}
	c.HTTP.SpecialTokens = httpapi.SpecialTokensText
	if _, err := ModelFromTexts(data, m, c); err == nil || !strings.Contains(err.Error(), "model x cannot be used with special-tokens-in-messages text") {
		t.Errorf("%v", err)
	}
	c.HTTP.SpecialTokens = httpapi.SpecialTokensParse
	if _, err := ModelFromTexts(data, m, c); err != nil {
		t.Error(err)
	}
}

func encoded(t testing.TB, texts *wire.Texts) ([]byte, string) {
	t.Helper()
	data, hash, err := wire.EncodeTexts(texts)
	if err != nil {
		t.Fatal(err)
	}
	return data, hash
}

// tinyTexts are of a vocabulary of two tokens.
func tinyTexts() *wire.Texts {
	return &wire.Texts{Files: map[string][]byte{"tokenizer.json": []byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}}`)}, Eos: []int32{1}}
}

func TestBadModelsOfEnginesAreRefused(t *testing.T) {
	for want, change := range map[string]func(texts *wire.Texts, m *wire.Model){
		"has no name":                                    func(_ *wire.Texts, m *wire.Model) { m.Name = "" },
		"model m has a vocabulary of 0 tokens":           func(_ *wire.Texts, m *wire.Model) { m.Vocab = 0 },
		"a vocabulary of 2147483648 tokens":              func(_ *wire.Texts, m *wire.Model) { m.Vocab = 1 << 31 },
		"model m has a context of 0 tokens":              func(_ *wire.Texts, m *wire.Model) { m.Context = 0 },
		"a context of -1 tokens":                         func(_ *wire.Texts, m *wire.Model) { m.Context = -1 },
		"model m: the tokenizer has token ids up to 1":   func(_ *wire.Texts, m *wire.Model) { m.Vocab = 1 },
		"token 2, which ends an output, is outside":      func(texts *wire.Texts, _ *wire.Model) { texts.Eos = []int32{1, 2} },
		"token -1, which ends an output, is outside":     func(texts *wire.Texts, _ *wire.Model) { texts.Eos = []int32{-1} },
		"model m: top_p is 2; it must be":                func(texts *wire.Texts, _ *wire.Model) { texts.Recommended = &wire.Recommended{TopP: proto.Float32(2)} },
		"model m: tokenizer.json is missing":             func(texts *wire.Texts, _ *wire.Model) { texts.Files = nil },
		`model m: "../x" is not a file`:                  func(texts *wire.Texts, _ *wire.Model) { texts.Files["../x"] = nil },
		"model m: there are files beside tokenizer.gguf": func(texts *wire.Texts, _ *wire.Model) { texts.Files["tokenizer.gguf"] = nil },
	} {
		texts, m := tinyTexts(), &wire.Model{Name: "m", Context: 10, Vocab: 2}
		change(texts, m)
		var data []byte
		data, m.Texts = encoded(t, texts)
		if _, err := ModelFromTexts(data, m, settings(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	data, hash := encoded(t, tinyTexts())
	_, other := encoded(t, &wire.Texts{})
	for _, c := range []struct{ hash, want string }{{hash, ""}, {other, "the hash of the model's texts is " + hash}, {"", "the hash of the model's texts is " + hash}} {
		_, err := ModelFromTexts(data, &wire.Model{Name: "m", Context: 10, Vocab: 2, Texts: c.hash}, settings(t))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestTextsOfAnEngineThatLostItsFiles(t *testing.T) {
	dir, own := changedModel(t, nil), filepath.Join(t.TempDir(), "own.jinja")
	if err := os.WriteFile(own, []byte(otherTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	c := settings(t)
	c.Model, c.ChatTemplate = dir, own
	n := textNode(t, c)
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Texts(); err == nil || !strings.Contains(err.Error(), "chat-template: open "+own) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(dir, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Texts(); err == nil || !strings.Contains(err.Error(), "model directory "+dir+": tokenizer.json is missing") {
		t.Errorf("%v", err)
	}
}

// TestConformanceGateways does the same with models of others.
func TestConformanceGateways(t *testing.T) {
	dir := conformance.Path(t, "weights")
	for _, path := range []string{"fixtures/tiny-llama", "fixtures/tiny-qwen2", "stories260k/hf-f32", "stories260k/stories260K-f16.gguf", "quant/tiny-llama-Q4_K_M.gguf"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := settings(t)
			c.Model = filepath.Join(dir, path)
			checkGateway(t, textNode(t, c), settings(t))
		})
	}
}

// FuzzModelFromTexts: whatever an engine sends, there is an error or a model that works.
func FuzzModelFromTexts(f *testing.F) {
	c := settings(f)
	for _, texts := range []*wire.Texts{tinyTexts(), {Files: tinyTexts().Files, ChatTemplate: otherTemplate, Recommended: &wire.Recommended{TopK: proto.Int32(5), MinP: proto.Float32(.5)}}} {
		data, _ := encoded(f, texts)
		f.Add(data)
	}
	gguf := settings(f)
	gguf.Model = smallGGUF(f)
	data, _ := sent(f, textNode(f, gguf))
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		texts := &wire.Texts{}
		if proto.Unmarshal(data, texts) == nil {
			for _, file := range texts.Files {
				if len(file) > 1<<12 && bytes.Contains(file, []byte("Regex")) {
					t.Skip("long patterns may use their whole time limit")
				}
			}
		}
		hash := sha256.Sum256(data)
		m, err := ModelFromTexts(data, &wire.Model{Name: "m", Context: 10, Vocab: 1000, Texts: hex.EncodeToString(hash[:])}, c)
		if err != nil {
			return
		}
		if m.Template != nil && m.TemplateFault != nil {
			t.Fatal("a template with a fault")
		}
		for _, id := range append(m.Tokenizer.Encode("a <s>b", tokenizer.EncodeOptions{AddSpecial: true}), m.EOS...) {
			if id < 0 || id >= 1000 {
				t.Fatalf("token %d of a vocabulary of 1000", id)
			}
		}
		if m.Template != nil {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			messages, _ := chat.DecodeJSON([]byte(conversations[1]))
			m.EncodeChat(ctx, chat.Input{Messages: messages}, httpapi.SpecialTokensText)
		}
	})
}
