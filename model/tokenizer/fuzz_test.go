package tokenizer

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
)

// FuzzLoad: any file is loaded as a tokenizer that works or refused with an error, never a panic,
// and no table larger than the files justify.
func FuzzLoad(f *testing.F) {
	fixtures := streamFixtures()
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		fix := fixtures[name]
		f.Add(string(fix.json(f)), fix.files[fileConfig])
	}
	f.Add(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"added_tokens":[{"id":3,"content":"a b","lstrip":true,"rstrip":true,"single_word":true}],"pre_tokenizer":{"type":"Split","pattern":{"String":"b"},"behavior":"MergedWithNext"}}`, `{"bos_token":"a","chat_template":"x"}`)
	f.Fuzz(func(t *testing.T, text, config string) {
		if strings.Contains(text, "Regex") && len(text) > 1<<12 {
			t.Skip("long patterns may use their whole time limit")
		}
		tok, err := loadText(text, map[string]string{fileConfig: config})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		if limit := 1<<16 + 64*(len(text)+len(config)); tok.VocabSize() > limit {
			t.Fatalf("%d ids from %d bytes", tok.VocabSize(), len(text)+len(config))
		}
		for _, opts := range []EncodeOptions{{}, {AddSpecial: true, ParseSpecial: true}} {
			ids := tok.Encode("ab  <s>é 12'S\n\xff", opts)
			for _, id := range ids {
				if tok.flag(id)&flagKnown == 0 {
					t.Fatalf("encoding gave the unknown id %d", id)
				}
			}
			checkStreamOf(t, tok, ids)
		}
	})
}

func checkStreamOf(tb testing.TB, tok *Tokenizer, ids []int32) {
	for _, opts := range []DecodeOptions{{}, {SkipSpecial: true}} {
		checkStream(tb, tok, ids, opts)
	}
}

// FuzzEncodeDecode: byte-level text comes back exactly; every id is known; the
// cache does not change a result.
func FuzzEncodeDecode(f *testing.F) {
	bl, sp := smallByteLevel().load(f), smallSentencePiece().load(f)
	f.Add("hello world <|end|>")
	f.Add(" a<s>b\t\u00a0€é \ufeff\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, opts := range []EncodeOptions{{}, {ParseSpecial: true}} {
			ids := bl.Encode(text, opts)
			if got := bl.Decode(ids, DecodeOptions{}); got != lossy(text) {
				t.Fatalf("%q came back as %q", text, got)
			}
			if again := bl.Encode(text, opts); !slices.Equal(ids, again) {
				t.Fatalf("%q gave %v, then %v", text, ids, again)
			}
		}
		ids := sp.Encode(text, EncodeOptions{AddSpecial: true})
		if ids[0] != 1 || ids[len(ids)-1] != 2 {
			t.Fatalf("%q: ends are missing in %v", text, ids)
		}
		if slices.ContainsFunc(ids[1:len(ids)-1], sp.IsSpecial) {
			t.Fatalf("plain %q gave a special token: %v", text, ids)
		}
		// The inverse up to marks for spaces and byte order marks.
		plain := strings.NewReplacer("▁", " ", byteOrderMark, "")
		got := plain.Replace(sp.Decode(ids, DecodeOptions{SkipSpecial: true}))
		if want := plain.Replace(lossy(text)); got != want {
			t.Fatalf("%q came back as %q", text, got)
		}
		checkStreamOf(t, sp, ids)
	})
}

// FuzzStream: any ids, in every shape of decoder, stream to the text of Decode.
func FuzzStream(f *testing.F) {
	var toks []*Tokenizer
	fixtures := streamFixtures()
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		toks = append(toks, fixtures[name].load(f))
	}
	f.Add([]byte("\x00\x01\xe2\x00\x82\x00\xac\x01\x04"), true)
	f.Fuzz(func(t *testing.T, raw []byte, skip bool) {
		var ids []int32
		for ; len(raw) >= 2; raw = raw[2:] {
			ids = append(ids, int32(int16(binary.LittleEndian.Uint16(raw)))%320)
		}
		for _, tok := range toks {
			checkStreamProperties(t, tok, ids, DecodeOptions{SkipSpecial: skip})
		}
	})
}
