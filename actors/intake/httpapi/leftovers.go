package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// Values of Options.UnknownFields.
const (
	UnknownFieldsWarn   = "warn"   // accepted, and named in the header of the answer
	UnknownFieldsRefuse = "refuse" // an error
)

// ignoredHeader names the parameters of a request that had no effect.
const ignoredHeader = "X-Troupe-Ignored-Fields"

// Bounds of what is kept of a body's parameters without effect. Further ones are only counted.
const (
	maxIgnored = 64
	maxRefused = 64
	// maxRefusedBytes bounds the error about all that are refused: as many names with what
	// to do about each.
	maxRefusedBytes = 10000
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
	refused []refusedField
	denied  int // refused ones that are not in the list
}

// refusedField is a parameter that is refused.
type refusedField struct {
	path, code string
	is         string // what it is and what to do, as in "not supported; leave it out"
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
	at := l.at
	if prefix != "" && (prefix != inOptions || at == inGenerate) {
		at = below[prefix]
	}
	known, path, elsewhere := foreignTable()[at][name], prefix+name, ""
	if known == nil {
		elsewhere = l.misplaced(prefix, name)
	}
	switch {
	case isNull(value) && (known != nil || elsewhere != "" || !l.refuse): // "not given"
	case known != nil && known.neutral == advice:
		l.ignore(path)
	case known != nil && known.accepts(value): // the value changes nothing
	case known == nil && elsewhere == "" && !l.refuse:
		l.ignore(path)
	case len(l.refused) == maxRefused:
		l.denied++
	case known != nil:
		l.deny(path, "unsupported_parameter", "not supported; "+known.instead())
	case elsewhere != "":
		l.deny(path, "unknown_parameter", "not a parameter of this endpoint; "+elsewhere)
	default:
		l.deny(path, "unknown_parameter", "not a parameter of this endpoint"+didYouMean(name, fieldNames(into)))
	}
}

func (l *leftovers) ignore(path string) {
	if len(l.ignored) == maxIgnored {
		l.more++
		return
	}
	l.ignored = append(l.ignored, clip(path, 64))
}

func (l *leftovers) deny(path, code, is string) {
	l.refused = append(l.refused, refusedField{path, code, is})
}

// generatingBodies are the structs with the parameters of each place.
var generatingBodies = map[place]reflect.Type{
	inChat: reflect.TypeFor[chatRequest](), inCompletions: reflect.TypeFor[completionRequest](),
	inGenerate: reflect.TypeFor[generateRequest](), inSampling: reflect.TypeFor[sampling](),
}

// placesOf are the places that have each parameter, by name.
var placesOf = sync.OnceValue(func() map[string]place {
	places := map[string]place{}
	for at, body := range generatingBodies {
		for name := range fieldsOf(body) {
			places[name] |= at
		}
	}
	return places
})

// inert are parameters that change nothing at endpoints that do not have them: where
// nothing is rendered, variables of the chat template, and where every event of a stream
// has the usage, the options of streams.
var inert = map[string]bool{
	"model": true, "stream_options": true, "chat_template_kwargs": true, "add_generation_prompt": true,
	"reasoning_effort": true, "enable_thinking": true, "think": true, "thinking": true,
	"thinking_budget": true, "thinking_token_budget": true, "reasoning_budget": true,
}

// otherInputs are the remedies for the inputs of other endpoints.
var otherInputs = map[place]map[string]string{
	inChat: {"prompt": "send messages, or use /v1/completions", "text": "send messages, or use /v1/completions", "input_ids": "use /v1/completions",
		"sampling_params": "put sampling parameters into the body itself"},
	inCompletions: {"messages": "send a prompt, or use /v1/chat/completions", "text": "send it as the prompt", "input_ids": "send them as the prompt",
		"sampling_params": "put sampling parameters into the body itself"},
	inGenerate: {"messages": "send text, or use /v1/chat/completions", "prompt": "send it as text"},
}

// misplaced says what to do about a parameter that another place has and this one does
// not: without it the answer would not be what the client asked for. "" for other names.
func (l *leftovers) misplaced(prefix, name string) string {
	places := placesOf()[name]
	switch {
	case places == 0:
		return ""
	case prefix != "" && places&l.at != 0:
		return fmt.Sprintf("put it next to %s, not in it", strings.TrimSuffix(prefix, "."))
	case inert[name]:
		return ""
	case prefix == "" && l.at == inGenerate && places&inSampling != 0:
		return `put it in sampling_params: {"text": "…", "sampling_params": {…}}`
	}
	return cmp.Or(otherInputs[l.at][name], "leave it out")
}

// refusal is one error about all parameters that are refused; nil without any.
func (l *leftovers) refusal() *apiError {
	if l == nil || len(l.refused) == 0 {
		return nil
	}
	first := l.refused[0]
	e := newError(http.StatusBadRequest).coded(first.code).about(first.path)
	if len(l.refused) == 1 {
		return e.say("%s is %s", clip(first.path, 64), own(first.is))
	}
	all, rest := len(l.refused)+l.denied, ""
	if l.denied > 0 {
		rest = fmt.Sprintf("; the first %d are named here", len(l.refused))
	}
	e.say("%d parameters are refused%s. ", own(all), own(rest))
	e.most = maxRefusedBytes
	for i, group := range l.groups() {
		if i > 0 {
			e.Message, e.logged = e.Message+". ", e.logged+". "
		}
		is := ": " + strings.TrimPrefix(group[0].is, "not supported; ")
		for j, f := range group {
			name := clip(f.path, 64)
			logged := "…"
			if known, ok := parameter(name); ok {
				logged = known
			}
			if j > 0 {
				name, logged = ", "+name, ", "+logged
			}
			e.Message, e.logged = e.Message+name, e.logged+logged
		}
		e.Message, e.logged = e.Message+is, e.logged+is
	}
	return e
}

// groups are the refused parameters by what to do about them.
func (l *leftovers) groups() (groups [][]refusedField) {
	index := map[string]int{}
	for _, f := range l.refused {
		i, seen := index[f.is]
		if !seen {
			i = len(groups)
			index[f.is] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// Names that can go into the header, and the form of parameters, which can go into the log
// at level debug: other names may be anything that a client has made up.
var (
	headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)?$`)
	plainName  = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`)
)

// names are the ignored parameters whose names have a form. The others are only counted.
func (l *leftovers) names(form *regexp.Regexp) (list []string, others int) {
	others = l.more
	for _, name := range l.ignored {
		if form.MatchString(name) {
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
	list, others := l.names(headerName)
	text := strings.Join(list, ", ")
	switch {
	case others > 0 && text == "":
		text = fmt.Sprintf("%d more", others)
	case others > 0:
		text = fmt.Sprintf("%s, and %d more", text, others)
	}
	w.Header().Set(ignoredHeader, text)
	list, others = l.names(plainName)
	log.Debug().Str("request_id", id).Strs("fields", list).Int("others", others).Msg("fields of a request have no effect")
}

// padding lists, as ignored, the option to pad the events of a stream: padding hides the
// lengths of tokens and changes nothing else.
func (s *stream) padding() (ignored []string) {
	if s.StreamOptions != nil && given(s.StreamOptions.IncludeObfuscation, false) {
		ignored = append(ignored, "stream_options.include_obfuscation")
	}
	return ignored
}
