package trace

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	xzreader "github.com/therootcompany/xz"
	"github.com/ulikunitz/xz"
)

func pack(t testing.TB, text []byte, config xz.WriterConfig) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := config.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func unpack(packed []byte) ([]byte, error) {
	x, err := xzreader.NewReader(bytes.NewReader(packed), maxDictionary)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(x)
}

func someText() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var text bytes.Buffer
	for text.Len() < 300_000 {
		text.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(20)))
		text.WriteByte(byte(r.Uint32()))
	}
	return text.Bytes()
}

// Every kind of checksum, several blocks, several streams with padding.
func TestXZReadsWhatWasPacked(t *testing.T) {
	text := someText()
	for _, config := range []xz.WriterConfig{
		{}, {CheckSum: xz.CRC32}, {CheckSum: xz.CRC64}, {CheckSum: xz.SHA256}, {NoCheckSum: true}, {BlockSize: 10_001}, {DictCap: 4096},
	} {
		packed := pack(t, text, config)
		if got, err := unpack(packed); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%+v: %d bytes, %v", config, len(got), err)
		}
		twice := append(append(bytes.Clone(packed), 0, 0, 0, 0, 0, 0, 0, 0), packed...)
		if got, err := unpack(twice); err != nil || !bytes.Equal(got, append(bytes.Clone(text), text...)) {
			t.Errorf("two streams of %+v: %d bytes, %v", config, len(got), err)
		}
	}
	if got, err := unpack(pack(t, nil, xz.WriterConfig{})); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %d bytes, %v", len(got), err)
	}
}

// Damage anywhere is found: cut off, or with a bit turned.
func TestXZFindsDamage(t *testing.T) {
	text := someText()[:2000]
	packed := pack(t, text, xz.WriterConfig{BlockSize: 700, DictCap: 4096})
	for at := range packed {
		if got, err := unpack(packed[:at]); err == nil {
			t.Fatalf("cut at %d: %d bytes and no error", at, len(got))
		}
		broken := bytes.Clone(packed)
		broken[at] ^= 1 << (at % 8)
		if got, err := unpack(broken); err == nil && !bytes.Equal(got, text) {
			t.Fatalf("byte %d: %d other bytes and no error", at, len(got))
		}
	}
}

// The dictionary is memory that the file requests, for every block anew.
func TestXZBoundsTheDictionary(t *testing.T) {
	const head, size = 12, 12 // where a block's header begins and how long this one is
	packed := pack(t, []byte(twoMooncake), xz.WriterConfig{})
	ask := func(dictionary byte) string {
		packed := bytes.Clone(packed)
		block := packed[head : head+size]
		at := bytes.IndexByte(block, 0x21) + 2
		block[at] = dictionary
		binary.LittleEndian.PutUint32(block[size-4:], crc32.ChecksumIEEE(block[:size-4]))
		return string(packed)
	}
	const mib64, mib96 = 28, 29
	if all, err := readAll(t, write(t, "t.xz", ask(mib64)), "mooncake"); err != nil || len(all) != 2 {
		t.Errorf("%d requests, %v", len(all), err)
	}
	for _, d := range []byte{mib96, 40} {
		second := string(pack(t, []byte(twoMooncake), xz.WriterConfig{})) + ask(d)
		for _, text := range []string{ask(d), second} {
			if _, err := readAll(t, write(t, "t.xz", text), "mooncake"); err == nil || !strings.Contains(err.Error(), "t.xz") || !strings.Contains(err.Error(), "more than 64 MiB; pack it with xz -9 or a lower level") {
				t.Errorf("dictionary %d: %v", d, err)
			}
		}
	}
}

func FuzzXZ(f *testing.F) {
	f.Add(pack(f, []byte(twoMooncake), xz.WriterConfig{}))
	f.Add(pack(f, someText()[:500], xz.WriterConfig{BlockSize: 100, CheckSum: xz.SHA256}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		x, err := xzreader.NewReader(bytes.NewReader(packed), maxDictionary)
		if err != nil {
			return
		}
		got, err := io.ReadAll(io.LimitReader(x, 1<<20))
		if err != nil {
			return
		}
		r, err := xz.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("the other reader refuses it: %v", err)
		}
		if want, err := io.ReadAll(io.LimitReader(r, 1<<20)); err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, the other reader has %d", len(got), len(want))
		}
	})
}
