package configs

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/internal/suggest"
)

const duration = "a duration, for example 30s or 2m"

// nouns describes the values of a type, by its name in Go or in pflag.
var nouns = map[string]string{
	"string": "a string", "[]string": "a list of strings", "bool": "true or false",
	"int": "a whole number", "int64": "a whole number", "float64": "a number", "time.Duration": duration, "duration": duration,
	"uint64": "a whole number of at least 0", "int32Slice": "whole numbers separated by commas", "intSlice": "whole numbers separated by commas",
}

// Wanted describes the values of a flag, by the type name that pflag gives it.
func Wanted(flagType string) string {
	return cmp.Or(nouns[flagType], "a "+flagType)
}

// nearest is the end of an error about an unknown name; limit is that of suggest.Nearest.
func nearest(name string, known []string, limit int) string {
	if at := suggest.Nearest(name, known, limit); at != "" {
		return fmt.Sprintf("; did you mean %s?", at)
	}
	return "; `troupe inspect config` lists all settings"
}

// Nearest returns the known name that was probably meant, or "".
func Nearest(name string, known []string) string {
	return suggest.Nearest(name, known, len(name)/2)
}

// List formats words as "a, b or c", or with another conjunction.
func List(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
