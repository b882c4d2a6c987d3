package tokenizer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// loadText loads a tokenizer.json given as text.
func loadText(text string, files map[string]string) (*Tokenizer, error) {
	all := fstest.MapFS{fileTokenizer: {Data: []byte(text)}}
	for name, content := range files {
		all[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return LoadFS(all)
}

// remedy is how an error about a file of the model ends, or what is supported instead.
var remedy = regexp.MustCompile(`; (use the model's original file|download it again|set it to null|put Fuse before it)$|supported`)

func TestHostileTokenizerFiles(t *testing.T) {
	model := func(vocab, merges, more string) string {
		return fmt.Sprintf(`{"model":{"type":"BPE",%s"vocab":%s,"merges":%s}}`, more, vocab, merges)
	}
	with := func(section string) string {
		return fmt.Sprintf(`{%s,"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[]}}`, section)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", "empty"},
		"not JSON":            {"hello", "the text is not JSON"},
		"not UTF-8":           {"{\"\xff\":1}", "not UTF-8"},
		"cut off":             {`{"model":{"type":"BPE","vocab":{"a":0,"b`, "the JSON is incomplete"},
		"cut off later":       {`{"model":{"type":"BPE","vocab":{"a":0}`, "the JSON is incomplete"},
		"more behind":         {model(`{"a":0}`, `[]`, "") + "x", "more text follows"},
		"no model":            {`{"version":"1.0"}`, "model is missing"},
		"two models":          {`{"model":{"type":"BPE","vocab":{},"merges":[]},"model":{}}`, "model appears twice"},
		"model is null":       {`{"model":null}`, "the JSON must have an object here"},
		"no vocab":            {`{"model":{"type":"BPE","merges":[]}}`, "model.vocab is missing"},
		"no merges":           {`{"model":{"type":"BPE","vocab":{"a":0}}}`, "model.merges is missing"},
		"other model":         {`{"model":{"type":"WordPiece","vocab":{}}}`, `"WordPiece" is not supported; supported: BPE`},
		"Unigram list":        {`{"model":{"vocab":[["a",0.1]]}}`, "Unigram"},
		"vocab is text":       {model(`"a"`, `[]`, ""), "the JSON must have an object here"},
		"id is text":          {model(`{"a":"0"}`, `[]`, ""), "model.vocab[\"a\"]"},
		"id is a fraction":    {model(`{"a":0.5}`, `[]`, ""), "the JSON must have a 64-bit integer without a decimal point or exponent here"},
		"negative id":         {model(`{"a":-1}`, `[]`, ""), "is not between 0 and 16777215"},
		"id 2^31":             {model(`{"a":2147483648}`, `[]`, ""), "is not between 0 and 16777215"},
		"huge id":             {model(`{"a":99999999999999999999999}`, `[]`, ""), "the JSON must have a 64-bit integer without a decimal point or exponent here"},
		"sparse ids":          {model(`{"a":16777215}`, `[]`, ""), "too large for 1 tokens"},
		"duplicate id":        {model(`{"a":0,"b":0}`, `[]`, ""), "belongs to two tokens"},
		"duplicate token":     {model(`{"a":0,"a":1}`, `[]`, ""), "appears twice"},
		"long token":          {model(`{"`+strings.Repeat("a", maxTokenLen+1)+`":0}`, `[]`, ""), "at most 4096"},
		"unknown in merge":    {model(`{"a":0,"b":1}`, `["a b"]`, ""), `model.merges[0]: token "ab" is not in model.vocab`},
		"unknown left":        {model(`{"a":0,"b":1}`, `["x b"]`, ""), `token "x" is not in`},
		"merge of one":        {model(`{"a":0}`, `["a"]`, ""), "not two tokens"},
		"merge of three":      {model(`{"a":0}`, `["a a a"]`, ""), "not two tokens"},
		"pair of three":       {model(`{"a":0}`, `[["a","a","a"]]`, ""), "has 3 parts"},
		"merge is a number":   {model(`{"a":0}`, `[1]`, ""), "model.merges[0]"},
		"unknown unk":         {model(`{"a":0}`, `[]`, `"unk_token":"<unk>",`), "unk_token"},
		"dropout":             {model(`{"a":0}`, `[]`, `"dropout":0.1,`), "dropout is 0.1"},
		"flag is text":        {model(`{"a":0}`, `[]`, `"fuse_unk":"yes",`), "model.fuse_unk"},
		"deep nesting":        {with(`"normalizer":` + strings.Repeat("[", 1000)), "nested too deeply"},
		"deep sequence":       {with(`"normalizer":` + strings.Repeat(`{"type":"Sequence","normalizers":[`, 100)), "nested too deeply"},
		"control character":   {"{\"a\nb\":1}", "control character"},
		"normalizer":          {with(`"normalizer":{"type":"Precompiled"}`), `normalizer: type "Precompiled" is not supported; supported: Sequence, NFC`},
		"nested normalizer":   {with(`"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"X"}]}`), `normalizer.normalizers[1]: type "X"`},
		"growth":              {with(`"normalizer":{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"Replace","pattern":{"String":"a"},"content":"aa"},`, 30) + `{"type":"NFC"}]}`), "normalizer.normalizers[6]: the normalizer may make a text 128 times longer"},
		"long prepend":        {with(`"normalizer":{"type":"Prepend","prepend":"` + strings.Repeat("a", 65) + `"}`), "normalizer.prepend has 65 bytes"},
		"no type":             {with(`"normalizer":{}`), `"type" is missing`},
		"normalizer is text":  {with(`"normalizer":"NFC"`), "normalizer"},
		"pre-tokenizer":       {with(`"pre_tokenizer":{"type":"UnicodeScripts"}`), `"UnicodeScripts" is not supported`},
		"regex":               {with(`"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"}`), "pattern.Regex"},
		"no pattern":          {with(`"pre_tokenizer":{"type":"Split","behavior":"Isolated"}`), "exactly one of String and Regex"},
		"empty pattern":       {with(`"normalizer":{"type":"Replace","pattern":{"String":""},"content":"x"}`), "empty"},
		"behavior":            {with(`"pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"Apart"}`), `"Apart"`},
		"metaspace":           {with(`"pre_tokenizer":{"type":"Metaspace","replacement":"ab"}`), "not one character"},
		"scheme":              {with(`"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"last"}`), `"last"`},
		"delimiter":           {with(`"pre_tokenizer":{"type":"CharDelimiterSplit","delimiter":""}`), "not one character"},
		"decoder":             {with(`"decoder":{"type":"WordPiece"}`), `"WordPiece" is not supported`},
		"decoder order":       {with(`"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"ByteFallback"}]}`), "after another"},
		"strip unfused":       {with(`"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Strip","content":" "}]}`), "put Fuse before"},
		"regex behind fuse":   {with(`"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},{"type":"Replace","pattern":{"Regex":"a"},"content":""}]}`), "cannot be streamed"},
		"strip count":         {with(`"decoder":{"type":"Strip","content":" ","start":-1}`), "must be between"},
		"post-processor":      {with(`"post_processor":{"type":"X"}`), `post_processor: type "X"`},
		"template without A":  {with(`"post_processor":{"type":"TemplateProcessing","single":[]}`), "0 times"},
		"template id":         {with(`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}},{"Sequence":{"id":"A"}}],"special_tokens":{"x":{"ids":[9]}}}`), "no token has id 9"},
		"template token":      {with(`"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"x"}},{"Sequence":{"id":"A"}}]}`), `"x" is not in`},
		"template item":       {with(`"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}]}`), "single[0]"},
		"bert":                {with(`"post_processor":{"type":"BertProcessing","cls":["a"],"sep":["b",1]}`), "cls must be"},
		"added id":            {with(`"added_tokens":[{"id":4294967296,"content":"x"}]`), "added_tokens[0]"},
		"added negative":      {with(`"added_tokens":[{"id":-5,"content":"x"}]`), "added_tokens[0]"},
		"added taken":         {with(`"added_tokens":[{"id":1,"content":"x"}]`), "belongs to two tokens"},
		"added disagrees":     {with(`"added_tokens":[{"id":5,"content":"a"}]`), "has the ids 0 and 5"},
		"added is an object":  {with(`"added_tokens":{}`), "added_tokens"},
		"added flag is a str": {with(`"added_tokens":[{"id":5,"content":"x","special":"yes"}]`), "special"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(c.text, nil)
			if err == nil {
				t.Fatal("loaded without an error")
			}
			if msg := err.Error(); !strings.HasPrefix(msg, fileTokenizer+":") || !strings.Contains(msg, c.want) {
				t.Errorf("error %q, want it to begin with the file and contain %q", msg, c.want)
			} else if !remedy.MatchString(msg) {
				t.Errorf("error %q has no remedy", msg)
			}
		})
	}
}

func TestHostileSideFiles(t *testing.T) {
	text := string(smallSentencePiece().json(t))
	for name, c := range map[string]struct{ file, content, want string }{
		"cut off":         {fileConfig, `{"bos_token": "<s`, "unexpected end"},
		"a list":          {fileConfig, `[]`, "array"},
		"bos is a number": {fileConfig, `{"bos_token": 1}`, "bos_token"},
		"flag is text":    {fileConfig, `{"add_bos_token": "yes"}`, "add_bos_token"},
		"template":        {fileConfig, `{"chat_template": 3}`, "chat_template"},
		"unnamed":         {fileConfig, `{"chat_template": [{"template": ""}]}`, "[0].name is missing"},
		"decoder id":      {fileConfig, `{"added_tokens_decoder": {"x": {"content": "a"}}}`, "not a whole number"},
		"decoder huge id": {fileConfig, `{"added_tokens_decoder": {"2147483648": {"content": "a"}}}`, "is not between"},
		"decoder differs": {fileConfig, `{"added_tokens_decoder": {"7": {"content": "<s>"}}}`, "has the ids"},
		"extra":           {fileConfig, `{"additional_special_tokens": 5}`, "must be a list"},
		"special map":     {fileSpecialTokens, `{"eos_token": []}`, "eos_token"},
		"added tokens":    {fileAddedTokens, `{"x": "y"}`, "added_tokens.json"},
		"added huge":      {fileAddedTokens, `{"x": 2147483648}`, "is not between"},
		"jinja":           {fileChatTemplate, "\xff", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(text, map[string]string{c.file: c.content})
			if err == nil || !strings.Contains(err.Error(), c.want) || !remedy.MatchString(err.Error()) {
				t.Errorf("error %v, want one with a remedy and %q", err, c.want)
			}
		})
	}
}

func TestLoadDirectory(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadFS(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "save_pretrained") {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileTokenizer), smallByteLevel().json(t), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := LoadFS(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if tok.VocabSize() != 302 {
		t.Errorf("size %d, want 302", tok.VocabSize())
	}
}

func TestSpecialTokensAndTemplates(t *testing.T) {
	f := smallSentencePiece()
	f.files = map[string]string{
		fileSpecialTokens: `{"bos_token": "<unk>", "pad_token": {"content": "b"}}`,
		fileAddedTokens:   `{"<s>": 1, "<plain>": 280}`,
		fileConfig: `{"bos_token": "<s>", "eos_token": "</s>", "unk_token": null, "tokenizer_class": "LlamaTokenizerFast",
			"add_bos_token": true, "add_eos_token": false, "additional_special_tokens": ["<img>", {"content": "c"}],
			"added_tokens_decoder": {"281": {"content": "<img>", "special": true}},
			"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]}`,
		fileChatTemplate:                "J",
		dirChatTemplates + "/rag.jinja": "R", dirChatTemplates + "/default.jinja": "folder",
		dirChatTemplates + "/notes.txt":    "N",
		"unrelated.json":                   "{",
		dirChatTemplates + "/deep/x.jinja": "X",
	}
	tok := f.load(t)
	bos, okB := tok.BOS()
	eos, okE := tok.EOS()
	if bos != 1 || !okB || eos != 2 || !okE || tok.BOSText() != "<s>" || tok.EOSText() != "</s>" {
		t.Errorf("ends %d %v %d %v %q %q", bos, okB, eos, okE, tok.BOSText(), tok.EOSText())
	}
	if got, want := contents(tok, tok.Encode("a<img><plain>", EncodeOptions{AddSpecial: true, ParseSpecial: true})), "<s>|▁a|<img>|<plain>"; got != want {
		t.Errorf("encode = %s, want %s", got, want)
	}
	for content, want := range map[string]bool{"<s>": true, "<img>": true, "<plain>": false, "b": true, "c": true, "a": false} {
		if id, ok := tok.TokenID(content); !ok || tok.IsSpecial(id) != want {
			t.Errorf("%s: known %v, special %v, want %v", content, ok, tok.IsSpecial(id), want)
		}
	}
	want := map[string]string{"default": "J", "tool_use": "T", "rag": "R"}
	if got := tok.ChatTemplates(); !maps.Equal(got, want) {
		t.Errorf("templates %v, want %v", got, want)
	}
	if !addsBOS(tok) || tok.VocabSize() != 282 {
		t.Errorf("adds BOS %v, size %d", addsBOS(tok), tok.VocabSize())
	}
}

func TestNoEnds(t *testing.T) {
	tok := fixture{vocab: []string{"a"}}.load(t)
	_, okB := tok.BOS()
	_, okE := tok.EOS()
	if okB || okE || tok.BOSText() != "" || tok.EOSText() != "" || addsBOS(tok) || len(tok.ChatTemplates()) != 0 {
		t.Error("a tokenizer without a config names ends or templates")
	}
}

func TestTokenTables(t *testing.T) {
	bl, sp := smallByteLevel().load(t), smallSentencePiece().load(t)
	for _, c := range []struct {
		tok                  *Tokenizer
		content, bytes, text string
	}{
		{bl, "Ġworld", " world", " world"},
		{bl, "Ã", "\xc3", "\uFFFD"},
		{bl, "<|end|>", "<|end|>", "<|end|>"},
		{sp, "▁ab", " ab", " ab"},
		{sp, "<0xE2>", "\xe2", "\uFFFD"},
		{sp, "<0x0A>", "\n", "\n"},
		{sp, "<s>", "<s>", "<s>"},
	} {
		id, ok := c.tok.TokenID(c.content)
		if got := string(c.tok.TokenBytes(id)); !ok || got != c.bytes || lossy(string(c.tok.TokenBytes(id))) != c.text {
			t.Errorf("%s (%v): bytes %q text %q, want %q %q", c.content, ok, got, lossy(string(c.tok.TokenBytes(id))), c.bytes, c.text)
		}
	}
	for _, id := range []int32{-1, 265, 299, 302, 1 << 30, -1 << 31} { // 265 to 299 are a hole
		if bl.TokenBytes(id) != nil || lossy(string(bl.TokenBytes(id))) != "" || bl.IsSpecial(id) || bl.Decode([]int32{id}, DecodeOptions{}) != "" {
			t.Errorf("id %d is not unknown", id)
		}
	}
}

// A directory named like a template holds none, and other files are not read.
func TestReadFSReadsTheFilesOfTheTokenizerOnly(t *testing.T) {
	files, err := ReadFS(fstest.MapFS{
		fileTokenizer: {Data: []byte("a")}, fileConfig: {}, dirChatTemplates + "/rag.jinja": {Data: []byte("c")},
		fileChatTemplate + "/x": {}, dirChatTemplates + "/dir.jinja/x.jinja": {}, dirChatTemplates + "/readme.md": {}, "config.json": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{fileTokenizer: []byte("a"), fileConfig: {}, dirChatTemplates + "/rag.jinja": []byte("c")}
	if !reflect.DeepEqual(files, want) {
		t.Errorf("got %q, want %q", files, want)
	}
}
