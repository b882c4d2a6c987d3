package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// repeated refuses a body in which an object has a key twice: encoding/json
// would take the last one, other parsers the first, and whoever checked the
// body on its way here may have seen the other. body is valid JSON whose
// outermost object was decoded into a struct.
//
// It costs a pass over the body (BenchmarkRepeatedKeys compares it with all of
// the decoding), so values are skipped whole where no object can be in them. It
// does not look into arrays that do not begin with an object or an array: those
// of texts and numbers, whose elements may be nothing else.
func repeated(body []byte) *apiError {
	w := keyWalk{body: body, from: json.NewDecoder(bytes.NewReader(body))}
	return w.value()
}

// keyWalk goes through a body once.
type keyWalk struct {
	body []byte
	from *json.Decoder
	path []step // to the value that comes next
}

// step is a key or an index.
type step struct {
	key     string
	index   int
	isIndex bool
}

// skipped takes any JSON value and does nothing with it.
type skipped struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// value goes through the value that comes next.
func (w *keyWalk) value() *apiError {
	first, second := w.ahead()
	switch {
	case first == '{':
		return w.object()
	case first == '[' && (second == '{' || second == '['):
		return w.array()
	}
	return w.check(w.from.Decode(&skipped{}))
}

// ahead are the first two characters of the value that comes next.
func (w *keyWalk) ahead() (first, second byte) {
	rest := bytes.TrimLeft(w.body[w.from.InputOffset():], " \t\r\n:,")
	if len(rest) == 0 {
		return 0, 0
	}
	inner := bytes.TrimLeft(rest[1:], " \t\r\n")
	if len(inner) == 0 {
		return rest[0], 0
	}
	return rest[0], inner[0]
}

func (w *keyWalk) object() *apiError {
	if _, err := w.from.Token(); err != nil { // {
		return w.check(err)
	}
	var seen keySet
	seen.folds = len(w.path) == 0
	for w.from.More() {
		token, err := w.from.Token()
		key, isKey := token.(string)
		if err != nil || !isKey {
			return w.check(err)
		}
		w.path = append(w.path, step{key: key})
		if !seen.add(key) {
			return w.twice()
		}
		if err := w.value(); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.from.Token() // }
	return w.check(err)
}

func (w *keyWalk) array() *apiError {
	if _, err := w.from.Token(); err != nil { // [
		return w.check(err)
	}
	w.path = append(w.path, step{isIndex: true})
	for i := 0; w.from.More(); i++ {
		w.path[len(w.path)-1].index = i
		if err := w.value(); err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	_, err := w.from.Token() // ]
	return w.check(err)
}

// twice is the error of the key at the end of the path.
func (w *keyWalk) twice() *apiError {
	var name strings.Builder
	for i, at := range w.path {
		switch {
		case at.isIndex:
			fmt.Fprintf(&name, "[%d]", at.index)
			continue
		case i > 0:
			name.WriteByte('.')
		}
		name.WriteString(clip(at.key, 64))
	}
	param := clip(name.String(), maxErrorParam)
	return (&apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "repeated_parameter", Param: param}).
		say("%s is there twice, the second time at byte %d; send it once", param, own(w.from.InputOffset()))
}

// check words an error of a body that was decoded before without one.
func (w *keyWalk) check(err error) *apiError {
	if err == nil {
		return nil
	}
	return invalid("", "the body cannot be read at byte %d: %v", own(w.from.InputOffset()), err)
}

// keySet are the keys of an object so far.
type keySet struct {
	folds bool // keys that differ in case only are one, as in a struct
	few   []string
	many  map[string]struct{}
}

// fewKeys are compared one by one.
const fewKeys = 16

// add reports whether a key is new. Of a struct there are never many: it was
// decoded without unknown keys, so each names one of its fields.
func (s *keySet) add(key string) bool {
	switch {
	case s.folds && slices.ContainsFunc(s.few, func(k string) bool { return strings.EqualFold(k, key) }),
		slices.Contains(s.few, key):
		return false
	case s.folds, len(s.few) < fewKeys:
		s.few = append(s.few, key)
		return true
	case s.many == nil:
		s.many = map[string]struct{}{}
	}
	if _, there := s.many[key]; there {
		return false
	}
	s.many[key] = struct{}{}
	return true
}
