package httpapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// bodies of 1 MB, by what they are made of.
func bodies(tb testing.TB) map[string]struct {
	decode func(body []byte) *apiError
	body   []byte
} {
	type kind = struct {
		decode func(body []byte) *apiError
		body   []byte
	}
	const size = 1 << 20
	marshal := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	text := strings.Repeat("Once upon a time there was a \"cat\".\n", size/36)
	ids := make([]int, size/6)
	for i := range ids {
		ids[i] = 10000 + i%90000
	}
	turns := make([]map[string]string, size/200)
	for i := range turns {
		turns[i] = map[string]string{"role": "user", "content": text[:160]}
	}
	generate := func(into any, field func(*generateRequest) json.RawMessage) func([]byte) *apiError {
		return func(body []byte) *apiError {
			var req generateRequest
			if err := decodeStrictly(body, &req); err != nil {
				return err
			}
			if err := json.Unmarshal(field(&req), into); err != nil {
				tb.Fatal(err)
			}
			return nil
		}
	}
	conversation := func(body []byte) *apiError {
		var req chatRequest
		if err := decodeStrictly(body, &req); err != nil {
			return err
		}
		_, err := chatMessages(req.Messages)
		return err
	}
	return map[string]kind{
		"text":     {generate(new(string), func(r *generateRequest) json.RawMessage { return r.Text }), marshal(map[string]any{"text": text, "sampling_params": map[string]any{"max_new_tokens": 4}})},
		"ids":      {generate(new([]int32), func(r *generateRequest) json.RawMessage { return r.InputIDs }), marshal(map[string]any{"input_ids": ids})},
		"messages": {conversation, marshal(map[string]any{"messages": turns})},
	}
}

// BenchmarkRepeatedKeys tells what the search for repeated keys adds to the
// decoding of a body, alternately in one run so that other work meets both.
func BenchmarkRepeatedKeys(b *testing.B) {
	for name, k := range bodies(b) {
		b.Run(name, func(b *testing.B) {
			var decoding, search time.Duration
			for b.Loop() {
				start := time.Now()
				if err := k.decode(k.body); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				if err := repeated(k.body); err != nil {
					b.Fatal(err)
				}
				decoding, search = decoding+middle.Sub(start), search+time.Since(middle)
			}
			b.ReportMetric(100*search.Seconds()/decoding.Seconds(), "%added")
			b.ReportMetric(float64(len(k.body)*b.N)/1e6/decoding.Seconds(), "MB/s-decoded")
		})
	}
}
