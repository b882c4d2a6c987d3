package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const azureHeader = "TIMESTAMP,ContextTokens,GeneratedTokens"

// The traces of 2023 have no zone, those of 2024 do.
var azureLayouts = []string{"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"}

// azure reads the "Azure LLM inference traces" of AzurePublicDataset. Times
// are counted from the first request. Nothing is known about prefixes.
type azure struct {
	*records
	first time.Time
}

func openAzure(path string, _ Options) (Reader, error) {
	r, err := openRecords(path)
	if err != nil {
		return nil, err
	}
	header, err := r.next()
	switch {
	case err == io.EOF:
		err = &Error{File: path, What: "the file has no header; expected " + azureHeader}
	case err == nil && string(header) != azureHeader:
		err = r.fail("the header is %.80q; expected %s", header, azureHeader)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return &azure{records: r}, nil
}

func (a *azure) Next() (*Request, error) {
	text, err := a.nextLine()
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(text), ",")
	if len(fields) != 3 {
		return nil, a.fail("%d fields; expected 3, %s", len(fields), azureHeader)
	}
	at, err := parseTime(fields[0])
	if err != nil {
		return nil, a.fail("%v", err)
	}
	var lengths [2]int64
	for i, name := range []string{"ContextTokens", "GeneratedTokens"} {
		if lengths[i], err = strconv.ParseInt(strings.TrimSpace(fields[i+1]), 10, 64); err != nil {
			return nil, a.fail("%s is %.24q; it must be a whole number", name, fields[i+1])
		}
	}
	if what := checkLengths(lengths[0], lengths[1]); what != "" {
		return nil, a.fail("%s", what)
	}
	if !a.begun {
		a.first = at
	}
	since := at.Sub(a.first)
	if since > MaxTime {
		return nil, a.fail("the time is more than %d days after the first", MaxTime/(24*time.Hour))
	}
	if what := a.advance(since); what != "" {
		return nil, a.fail("%s", what)
	}
	return &Request{Line: a.line, Arrival: since, Input: int(lengths[0]), Output: int(lengths[1])}, nil
}

func parseTime(text string) (time.Time, error) {
	for _, layout := range azureLayouts {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("the time is %.40q; it must be like 2023-11-16 18:17:03.9799600", text)
}
