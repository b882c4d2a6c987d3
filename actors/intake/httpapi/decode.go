package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// decode reads a JSON body into a struct, strictly: an unknown field is an
// error that names the nearest known one, since a parameter that is silently
// ignored is worse than a refused one.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, into any) *apiError {
	// Asking for the type is also what keeps a web page of another origin from
	// posting here without a preflight.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return (&apiError{Status: http.StatusUnsupportedMediaType, Type: "invalid_request_error"}).
			say("the body must be JSON with Content-Type application/json, not %q", r.Header.Get("Content-Type"))
	}
	release, err := s.holdBody(r)
	if err != nil {
		return err
	}
	defer release()
	body, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	return unmarshal(body, into)
}

// holdBody counts a body against what all bodies that are being read may take
// together. One of unknown length counts as the longest.
func (s *Server) holdBody(r *http.Request) (release func(), err *apiError) {
	size := r.ContentLength
	if size < 0 || size > s.opt.MaxBodyBytes {
		size = s.opt.MaxBodyBytes
	}
	if s.bodies.Add(size) > s.opt.MaxBodiesBytes {
		s.bodies.Add(-size)
		return nil, (&apiError{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "rate_limit_exceeded", RetryAfter: 1}).
			say("the server is reading as many bodies as it has memory for; send it again later")
	}
	return func() { s.bodies.Add(-size) }, nil
}

// readBody reads a whole body within the limits of size and time.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *apiError) {
	ctl := http.NewResponseController(w)
	// Not every ResponseWriter has deadlines (tests); then there is none.
	_ = ctl.SetReadDeadline(time.Now().Add(s.opt.BodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opt.MaxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		// Reading goes on in the background, to notice a client that leaves.
		_ = ctl.SetReadDeadline(time.Time{})
		return body, nil
	case errors.As(err, &tooLarge):
		return nil, (&apiError{Status: http.StatusRequestEntityTooLarge, Type: "invalid_request_error"}).
			say("the body is larger than %d bytes; send less or raise max-body-bytes", own(tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the rest of the body is not waited for
		return nil, (&apiError{Status: http.StatusRequestTimeout, Type: "invalid_request_error"}).
			say("the body did not arrive within %s; send it faster", own(s.opt.BodyTimeout))
	}
	return nil, gone(r.Context(), err)
}

// unmarshal reads one JSON object strictly: every key is known, and there once.
func unmarshal(body []byte, into any) *apiError {
	if err := decodeStrictly(body, into); err != nil {
		return err
	}
	return repeated(body)
}

func decodeStrictly(body []byte, into any) *apiError {
	if !utf8.Valid(body) {
		return invalid("", "the body is not valid UTF-8 at byte %d; JSON must be", own(firstInvalid(body)))
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return decodeError(err, into)
	}
	// null decodes into a struct without a word.
	if first := bytes.TrimLeft(body, " \t\r\n"); first[0] != '{' {
		return invalid("", "the body must be a JSON object, not null")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("", "there is more after the JSON object at byte %d; send exactly one object", own(d.InputOffset()))
	}
	return nil
}

// firstInvalid is the offset of the first byte that is not UTF-8.
func firstInvalid(body []byte) int {
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(body)
}

func decodeError(err error, into any) *apiError {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var ours *apiError
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &wrongType) && wrongType.Field == "":
		return invalid("", "the body must be a JSON object, not %s", article(wrongType.Value))
	case errors.As(err, &wrongType):
		name := clientName(wrongType.Field, into)
		return invalid(name, "%s must be %s, not %s", name, own(jsonType(wrongType.Type)), article(wrongType.Value))
	case errors.As(err, &syntax):
		return invalid("", "the body is not valid JSON at byte %d: %v", own(syntax.Offset), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "the body ends before its JSON object does")
	}
	if name, ok := strings.CutPrefix(err.Error(), `json: unknown field "`); ok {
		name = strings.TrimSuffix(name, `"`)
		return (&apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: codeUnknown, Param: name}).
			say("%s is not a parameter of this endpoint%s", clip(name, 64), own(didYouMean(name, fieldNames(into))))
	}
	return invalid("", "the body cannot be read: %v", err)
}

// knownQuery refuses parameters behind the question mark that an endpoint does
// not have.
func knownQuery(query url.Values, known ...string) *apiError {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return (&apiError{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: codeUnknown, Param: name}).
				say("%s is not a parameter of this endpoint%s", clip(name, 64), own(didYouMean(clip(name, 64), known)))
		}
	}
	return nil
}

// clientName is a field's path without the Go structs that only group fields.
func clientName(path string, into any) string {
	for t := reflect.TypeOf(into).Elem(); t.Kind() == reflect.Struct; {
		first, rest, more := strings.Cut(path, ".")
		f, ok := t.FieldByName(first)
		if !more || !ok || !f.Anonymous {
			break
		}
		path, t = rest, f.Type
	}
	return path
}

// jsonType says a Go type in JSON's words.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return fmt.Sprintf("an integer of %d bits", t.Bits())
}

// article puts words to what encoding/json calls a value.
func article(value string) any {
	kind, literal, found := strings.Cut(value, " ")
	switch {
	case found: // "number 1.5"
		return clip(literal, 64)
	case kind == "bool":
		return own("a boolean")
	case kind == "array", kind == "object":
		return own("an " + kind)
	}
	return own("a " + kind)
}

// fieldNames lists the JSON names of a struct and those it embeds, but those
// that are refused anyhow.
func fieldNames(into any) []string {
	var names []string
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			switch {
			case f.Type == reflect.TypeFor[refusable]():
				continue
			case f.Anonymous:
				walk(f.Type)
				continue
			}
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	walk(reflect.TypeOf(into).Elem())
	return names
}
