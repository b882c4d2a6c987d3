package wire

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func someTexts() *Texts {
	t := &Texts{Files: map[string][]byte{}, ChatTemplate: "{{ messages }}", Eos: []int32{1, 2}, Recommended: &Recommended{Temperature: proto.Float32(0)}}
	for i := range 20 {
		t.Files[fmt.Sprint(i)] = []byte{byte(i)}
	}
	return t
}

func TestTextsRoundTrip(t *testing.T) {
	data, hash, err := EncodeTexts(someTexts())
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeTexts(data, hash)
	if err != nil || !proto.Equal(got, someTexts()) {
		t.Errorf("got %v, %v", got, err)
	}
	for range 20 { // the files are a map
		if again, other, _ := EncodeTexts(someTexts()); other != hash || !bytes.Equal(again, data) {
			t.Fatalf("equal texts have the hashes %s and %s", hash, other)
		}
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	good, hash, err := EncodeTexts(someTexts())
	if err != nil {
		t.Fatal(err)
	}
	varint := func(field protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), 1)
	}
	field := func(field protowire.Number, size int) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), make([]byte, size))
	}
	for want, data := range map[string][]byte{
		"have 301989889 bytes; at most 301989888 are": make([]byte, TextsBytes+1),
		"unexpected EOF":               good[:len(good)-1],
		"unknown field 7":              field(7, 1),
		"unknown field 3":              varint(3),
		"more than 64 files":           bytes.Repeat(field(fieldFiles, 0), 65),
		"field 3 of the model's texts": field(3, maxText),
		"field 4 of the model's texts": field(4, maxText),
		"are damaged":                  field(fieldFiles, 5), // of zeros
	} {
		refused(t, want, func() (any, error) { return DecodeTexts(data, hashOf(data)) })
	}
	refused(t, "hash of the model's texts is "+hash, func() (any, error) { return DecodeTexts(good, hashOf(nil)) })
	refused(t, `announced ""`, func() (any, error) { return DecodeTexts(good, "") })
	refused(t, `announced "`+hash[1:], func() (any, error) { return DecodeTexts(good, hash[1:]) })
}

func TestTextsThatGatewaysWouldRefuseAreNotSent(t *testing.T) {
	for want, change := range map[string]func(t *Texts){
		"more than 64 files": func(t *Texts) {
			for i := range 64 {
				t.Files["template"+fmt.Sprint(i)] = nil
			}
		},
		"invalid UTF-8": func(t *Texts) { t.Files["\xff"] = nil },
		"field 3":       func(t *Texts) { t.Eos = make([]int32, maxText) },
	} {
		texts := someTexts()
		change(texts)
		refused(t, want, func() (any, error) { _, _, err := EncodeTexts(texts); return nil, err })
	}
}
