package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/telemetry/recording"
)

// MooncakeBlock is the number of tokens in a block of a Mooncake trace.
const MooncakeBlock = 512

// mooncake is the format of the traces that came with "Mooncake: Trading More
// Storage for Less Computation", FAST 2025.
var mooncake = format{decode: func(_ *records, text []byte) (*Request, error) {
	var v struct {
		Timestamp *float64      `json:"timestamp"`     // ms
		Input     *int64        `json:"input_length"`  // tokens
		Output    *int64        `json:"output_length"` // tokens
		HashIDs   recording.IDs `json:"hash_ids"`      // one per block, a partial last one included
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	if v.HashIDs == nil {
		return nil, errors.New("hash_ids is missing")
	}
	r := &Request{Blocks: v.HashIDs, BlockSize: MooncakeBlock}
	return r, r.fill([3]string{"timestamp", "input_length", "output_length"}, v.Timestamp, v.Input, v.Output, true)
}}

const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

// The traces of 2023 have no zone, those of 2024 do.
var azureLayouts = []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"}

// azure is the format of the "Azure LLM inference traces" of AzurePublicDataset.
// Times are counted from the first request. Prefixes are not known.
var azure = format{
	header: azureHeader,
	checkHeader: func(first []byte) error {
		if string(first) != azureHeader {
			return fmt.Errorf("the header is %.80q; expected %s", first, azureHeader)
		}
		return nil
	},
	decode: decodeAzure,
}

func decodeAzure(r *records, text []byte) (*Request, error) {
	fields := strings.Split(string(text), ",")
	if len(fields) != 3 {
		return nil, fmt.Errorf("%d fields; expected 3, %s", len(fields), azureHeader)
	}
	at, err := parseTime(fields[0])
	if err != nil {
		return nil, err
	}
	var lengths [2]int64
	for i, name := range []string{"ContextTokens", "GeneratedTokens"} {
		if lengths[i], err = strconv.ParseInt(strings.TrimSpace(fields[i+1]), 10, 64); err != nil {
			return nil, fmt.Errorf("%s is %.24q; it must be a whole number", name, fields[i+1])
		}
	}
	if !r.begun {
		r.first = at
	}
	q := &Request{Arrival: at.Sub(r.first)}
	if err := q.setLengths(lengths[0], lengths[1]); err != nil {
		return nil, err
	}
	if q.Arrival > MaxTime {
		return nil, fmt.Errorf("the time is more than %d days after the first", MaxTime/(24*time.Hour))
	}
	return q, nil
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range azureLayouts {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("the time is %.40q; use for example 2023-11-16 18:17:03.9799600", text)
}

const jsonlHeader = `{"troupe_trace":1}`

// jsonl is our own format; docs/operations.md describes it.
var jsonl = format{header: jsonlHeader, checkHeader: checkJSONLHeader, decode: decodeJSONL}

func checkJSONLHeader(first []byte) error {
	var h recording.Header
	err := json.Unmarshal(first, &h)
	switch {
	case err != nil:
		return err
	case h.Version == nil:
		return fmt.Errorf("the header is %.80q; expected %s", first, jsonlHeader)
	case *h.Version != recording.Version:
		return fmt.Errorf("the trace has version %d; this program reads version %d", *h.Version, recording.Version)
	}
	return nil
}

func decodeJSONL(r *records, text []byte) (*Request, error) {
	var v recording.Line
	switch err := json.Unmarshal(text, &v); {
	case r.open && !json.Valid(text):
		return nil, r.cut(len(text))
	case err != nil:
		return nil, err
	case v.PageSize < 0 || v.PageSize > recording.MaxPageSize:
		return nil, fmt.Errorf("page_size is %d; it must be between 1 and %d", v.PageSize, recording.MaxPageSize)
	case v.PageSize == 0 && v.Pages != nil:
		return nil, errors.New("page_size is missing, but the request has pages")
	}
	q := &Request{Priority: v.Priority, Conversation: opaque(v.Conversation), Tenant: opaque(v.Tenant)}
	if v.Pages != nil {
		q.Blocks, q.BlockSize = v.Pages, int(v.PageSize)
	}
	return q, q.fill([3]string{"arrival_ms", "input", "output"}, v.Arrival, v.Input, v.Output, false)
}

// cut ends the trace before its last line if that is incomplete JSON without a line end, as
// left by a server that was killed or whose disk was full. Files of other formats were not
// written while they were measured, so a cut one is an incomplete copy, and an error.
func (r *records) cut(bytes int) error {
	if !r.begun {
		return fmt.Errorf("the only request is incomplete (%d bytes); record the trace again", bytes)
	}
	if r.warn != nil {
		r.warn(r.fail("the last line is incomplete (%d bytes), because the recording was interrupted; its request is left out", bytes).Error())
	}
	return io.EOF
}

func opaque(id *uint64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatUint(*id, 10)
}
