package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rs/zerolog"
)

// Values of Options.UnknownFields.
const (
	UnknownFieldsWarn   = "warn"   // accepted, and named in the header of the answer
	UnknownFieldsRefuse = "refuse" // an error
)

// ignoredHeader names the parameters of a request that had no effect.
const ignoredHeader = "X-Troupe-Ignored-Fields"

// Bounds of what is kept of a body's parameters without effect.
const (
	maxIgnored = 64 // names; further ones are only counted
	maxRefused = 16
)

// tolerant is a body that may have parameters of other servers and unknown ones.
type tolerant interface{ place() place }

func (*chatRequest) place() place       { return inChat }
func (*completionRequest) place() place { return inCompletions }
func (*generateRequest) place() place   { return inGenerate }

// leftovers are the parameters of a body that have no field in its struct.
type leftovers struct {
	at     place // of the body
	refuse bool  // unknown parameters are errors

	ignored []string // paths
	more    int      // ignored ones that are not in the list
	refused []*apiError
}

// leftoversOf returns nil for a body without tolerance: its unknown parameters are errors.
func leftoversOf(body any, o *rules) *leftovers {
	t, ok := body.(tolerant)
	if !ok {
		return nil
	}
	return &leftovers{at: t.place(), refuse: o.UnknownFields == UnknownFieldsRefuse}
}

// take decides about a parameter that a struct does not have. prefix is the path of the
// object that it is in.
func (l *leftovers) take(prefix, name string, value []byte, into reflect.Type) {
	if len(l.refused) == maxRefused {
		return
	}
	at := l.at
	if prefix != "" {
		at = below[prefix]
	}
	known, path := foreignTable()[at][name], prefix+name
	switch {
	case isNull(value) && (known != nil || !l.refuse): // "not given"
	case known != nil && known.neutral == advice:
		l.ignore(path)
	case known != nil && known.accepts(value): // the value changes nothing
	case known != nil:
		l.deny(known.refusal(path))
	case misplaced(at, name) != "":
		l.deny(newError(http.StatusBadRequest).coded("unknown_parameter").about(path).
			say("%s is not a parameter of this endpoint; %s", path, own(misplaced(at, name))))
	case l.refuse:
		l.deny(unknownField(path, didYouMean(name, fieldNames(into))))
	default:
		l.ignore(path)
	}
}

func (l *leftovers) ignore(path string) {
	if len(l.ignored) == maxIgnored {
		l.more++
		return
	}
	l.ignored = append(l.ignored, clip(path, 64))
}

func (l *leftovers) deny(e *apiError) { l.refused = append(l.refused, e) }

// misplaced says where a parameter belongs that another place has and this one does not:
// without it the answer would not be what the client asked for. "" for other names.
func misplaced(at place, name string) string {
	has := func(t reflect.Type) bool { _, ok := fieldsOf(t)[name]; return ok }
	native, generate := reflect.TypeFor[nativeSampling](), reflect.TypeFor[generateRequest]()
	switch {
	case at == inGenerate && has(native):
		return fmt.Sprintf(`put it in sampling_params, as in {"sampling_params": {"%s": …}}`, name)
	case at == inGenerate && slices.Contains([]string{"max_tokens", "max_completion_tokens"}, name):
		return "put max_new_tokens in sampling_params"
	case at == inSampling && has(generate):
		return "put it beside sampling_params, not in it"
	case at == inSampling && slices.Contains([]string{"max_tokens", "max_completion_tokens"}, name):
		return "use max_new_tokens"
	case at == inChat && name == "prompt":
		return "send messages, or use /v1/completions"
	case at == inCompletions && name == "messages":
		return "send a prompt, or use /v1/chat/completions"
	case at&inOpenAI != 0 && slices.Contains([]string{"sampling_params", "input_ids", "return_logprob"}, name):
		return "put sampling parameters into the body itself, or use /generate"
	}
	return ""
}

// refusal is one error about all parameters that are refused; nil without any.
func (l *leftovers) refusal() *apiError {
	if l == nil || len(l.refused) == 0 {
		return nil
	}
	first := l.refused[0]
	if len(l.refused) == 1 {
		return first
	}
	texts, logged := make([]string, len(l.refused)), make([]string, len(l.refused))
	for i, e := range l.refused {
		texts[i], logged[i] = e.Message, e.logged
	}
	all := newError(first.Status).coded(first.Code).about(first.Param)
	all.Message = fmt.Sprintf("%d parameters are refused: ", len(texts)) + strings.Join(texts, ". ")
	all.logged = fmt.Sprintf("%d parameters are refused: ", len(texts)) + strings.Join(logged, ". ")
	return all
}

// plainName is a name that can go into a header and, at level debug, into the log.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)

// names are the ignored parameters as text. Names that are not plain are only counted.
func (l *leftovers) names() (list []string, others int) {
	others = l.more
	for _, name := range l.ignored {
		if plainName.MatchString(name) {
			list = append(list, name)
		} else {
			others++
		}
	}
	return list, others
}

// report names the ignored parameters in the answer's header and in the log.
func (l *leftovers) report(w http.ResponseWriter, log *zerolog.Logger, id string) {
	if l == nil || len(l.ignored) == 0 {
		return
	}
	list, others := l.names()
	text := strings.Join(list, ", ")
	if others > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s, and %d more", text, others), ", ")
	}
	w.Header().Set(ignoredHeader, text)
	log.Debug().Str("request_id", id).Strs("fields", list).Int("others", others).Msg("fields of a request have no effect")
}
