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
	*records
	warn func(note string)
}

func openJSONL(path string, opts Options) (Reader, error) {
	r, err := openRecords(path)
	if err != nil {
		return nil, err
	}
	if err := checkHeader(r.lines); err != nil {
		r.Close()
		return nil, err
	}
	return &jsonl{records: r, warn: opts.Warn}, nil
}

func checkHeader(l *lines) error {
	text, err := l.next()
	if err == io.EOF {
		return &Error{File: l.path, What: `the file has no header; expected {"troupe_trace":1}`}
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
		return l.fail(`the header is %.80q; expected {"troupe_trace":1}`, text)
	case *h.Version != recording.Version:
		return l.fail("the trace has version %d; this program reads version %d", *h.Version, recording.Version)
	}
	return nil
}

func (j *jsonl) Next() (*Request, error) {
	text, err := j.nextLine()
	if err != nil {
		return nil, err
	}
	var v recording.Line
	switch err := json.Unmarshal(text, &v); {
	case j.open && !json.Valid(text):
		return nil, j.cut(len(text))
	case err != nil:
		return nil, j.fail("%s", jsonFault(err))
	case v.PageSize < 0 || v.PageSize > recording.MaxPageSize:
		return nil, j.fail("page_size is %d; it must be 1 to %d", v.PageSize, recording.MaxPageSize)
	case v.PageSize == 0 && v.Pages != nil:
		return nil, j.fail("page_size is missing, but the request has pages")
	}
	r := &Request{Priority: v.Priority, Conversation: opaque(v.Conversation), Tenant: opaque(v.Tenant)}
	if v.Pages != nil {
		r.Blocks, r.BlockSize = v.Pages, int(v.PageSize)
	}
	return r, j.fill(r, field[float64]{"arrival_ms", v.Arrival}, field[int64]{"input", v.Input}, field[int64]{"output", v.Output}, false)
}

// cut ends the trace before its last line, of which only the first bytes are
// there.
func (j *jsonl) cut(bytes int) error {
	if !j.begun {
		return j.fail("the line is cut after %d bytes, and no request comes before it", bytes)
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
