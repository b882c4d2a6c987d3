package trace

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/troupe-engine/troupe/telemetry/recording"
)

// jsonl reads our own format; docs/operations.md describes it.
//
// A server that is killed, or whose disk is full, leaves a file whose last line
// is cut: broken JSON without a line end. The reader leaves that line out and
// says so. Files of other formats were not written while they were measured, so
// a cut one is an incomplete copy, and an error.
type jsonl struct {
	*lines
	clock
	warn func(note string)
}

func openJSONL(path string, opts Options) (Reader, error) {
	l, err := openLines(path)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(l); err != nil {
		l.Close()
		return nil, err
	}
	return &jsonl{lines: l, warn: opts.Warn}, nil
}

func checkHeader(l *lines) error {
	text, err := l.next()
	if err == io.EOF {
		return &Error{File: l.path, What: `there is no header in the file; want {"troupe_trace":1}`}
	}
	if err != nil {
		return err
	}
	var h recording.Header
	if err := json.Unmarshal(text, &h); err != nil {
		return l.fail("%s", jsonFault(err))
	}
	switch {
	case h.Version == nil:
		return l.fail(`the header is %.80q; want {"troupe_trace":1}`, text)
	case *h.Version != recording.Version:
		return l.fail("the trace has version %d; this program reads version %d", *h.Version, recording.Version)
	}
	return nil
}

func (j *jsonl) Next() (*Request, error) {
	text, err := j.next()
	if err == io.EOF && !j.begun {
		return nil, &Error{File: j.path, What: "there is no request in the file"}
	}
	if err != nil {
		return nil, err
	}
	if j.open && !json.Valid(text) {
		return nil, j.cut(len(text))
	}
	var v recording.Line
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, j.fail("%s", jsonFault(err))
	}
	switch {
	case v.Arrival == nil:
		return nil, j.fail("arrival_ms is missing")
	case v.Input == nil:
		return nil, j.fail("input is missing")
	case v.Output == nil:
		return nil, j.fail("output is missing")
	case v.PageSize < 0 || v.PageSize > recording.MaxPageSize:
		return nil, j.fail("page_size is %d; it must be 1 to %d", v.PageSize, recording.MaxPageSize)
	case v.PageSize == 0 && v.Pages != nil:
		return nil, j.fail("page_size is missing, and there are pages")
	}
	if what := checkLengths(*v.Input, *v.Output); what != "" {
		return nil, j.fail("%s", what)
	}
	r := &Request{Line: j.line, Input: int(*v.Input), Output: int(*v.Output), Priority: v.Priority,
		Conversation: opaque(v.Conversation), Tenant: opaque(v.Tenant)}
	if v.Pages != nil {
		if what := checkBlocks(len(v.Pages), r.Input, int(v.PageSize), false); what != "" {
			return nil, j.fail("%s", what)
		}
		r.Blocks, r.BlockSize = v.Pages, int(v.PageSize)
	}
	at, what := j.arrival(*v.Arrival)
	if what != "" {
		return nil, j.fail("%s", what)
	}
	r.Arrival = at
	return r, nil
}

// cut ends the trace before its last line, of which only the first bytes are
// there.
func (j *jsonl) cut(bytes int) error {
	if !j.begun {
		return j.fail("the line is cut after %d bytes, and there is no request before it", bytes)
	}
	if j.warn != nil {
		j.warn(j.fail("the last line is cut after %d bytes, because the recording did not end as it should; its request is left out", bytes).Error())
	}
	return io.EOF
}

func opaque(id *uint64) string {
	if id == nil {
		return ""
	}
	return strconv.FormatUint(*id, 10)
}
