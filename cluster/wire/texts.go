package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// PieceBytes is the size of a piece of something large: small enough that tokens do not
// wait for it.
const PieceBytes = 64 << 10

// TextsBytes bounds encoded Texts: a tokenizer.json has at most 256 MiB.
const TextsBytes = 288 << 20

// maxFields bounds the fields of Texts. Each file is one; a tokenizer has five, and one for
// each further chat template.
const maxFields = 64

// The numbers of fields of Texts.
const (
	fieldFiles        = 1
	fieldChatTemplate = 2
	lastField         = 6
)

// EncodeTexts returns texts as they are sent, and the hash by which they are asked for:
// SHA-256 in hexadecimal. Equal texts have equal hashes.
func EncodeTexts(t *Texts) (data []byte, hash string, err error) {
	data, err = proto.MarshalOptions{Deterministic: true}.Marshal(t)
	if err == nil {
		err = checkTexts(data)
	}
	if err != nil {
		return nil, "", fmt.Errorf("gateways cannot get the model's texts: %w", err)
	}
	return data, hashOf(data), nil
}

// DecodeTexts reads what EncodeTexts has returned elsewhere, and compares it with its hash.
// It takes memory of about twice the size of data. The meaning is not checked.
func DecodeTexts(data []byte, hash string) (*Texts, error) {
	if err := checkTexts(data); err != nil {
		return nil, err
	}
	if have := hashOf(data); have != hash {
		return nil, fmt.Errorf("the hash of the model's texts is %s; the engine has announced %.64q", have, hash)
	}
	t := &Texts{}
	if err := proto.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("the model's texts are damaged: %w", err)
	}
	return t, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkTexts walks over the fields of Texts. Decoding many small ones would take many times
// the memory of the data.
func checkTexts(data []byte) error {
	if len(data) > TextsBytes {
		return fmt.Errorf("the model's texts have %d bytes; at most %d are allowed", len(data), TextsBytes)
	}
	for fields := 1; len(data) > 0; fields++ {
		field, kind, size := protowire.ConsumeField(data)
		switch {
		case size < 0:
			return fmt.Errorf("the model's texts are damaged: %w", protowire.ParseError(size))
		case field > lastField || kind != protowire.BytesType:
			return fmt.Errorf("the model's texts have an unknown field %d of type %d", field, kind)
		case field != fieldFiles && field != fieldChatTemplate && size > maxText:
			return fmt.Errorf("field %d of the model's texts has %d bytes; at most %d are allowed", field, size, maxText)
		case fields > maxFields:
			return fmt.Errorf("the model's texts have more than %d files and other fields", maxFields)
		}
		data = data[size:]
	}
	return nil
}
