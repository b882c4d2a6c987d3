package configs

import (
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags declares a flag for every setting.
func AddFlags(flags *pflag.FlagSet) { addFlags(flags, Default().settings()) }

// AddEngineFlags declares a flag for every setting that has an effect without
// a server.
func AddEngineFlags(flags *pflag.FlagSet) {
	addFlags(flags, slices.DeleteFunc(Default().settings(), func(s setting) bool { return s.is(serve) }))
}

func addFlags(flags *pflag.FlagSet, list []setting) {
	for _, s := range list {
		addFlag(flags, s.key, s.usage, s.value())
		if s.alias != "" {
			addFlag(flags, s.alias, "alias of --"+s.key, s.value())
		}
	}
}

func addFlag(flags *pflag.FlagSet, name, usage string, fallback any) {
	switch x := fallback.(type) {
	case string:
		flags.String(name, x, usage)
	case int:
		flags.Int(name, x, usage)
	case int64:
		flags.Int64(name, x, usage)
	case float64:
		flags.Float64(name, x, usage)
	case bool:
		flags.Bool(name, x, usage)
	case time.Duration:
		flags.Duration(name, x, usage)
	case []string:
		flags.Var(&listFlag{items: x}, name, usage)
	}
}

// changedFlag is the flag of a setting that was set, under either name; nil for
// none.
func (s *setting) changedFlag(flags *pflag.FlagSet) *pflag.Flag {
	for _, name := range s.names() {
		if flags != nil && flags.Changed(name) {
			return flags.Lookup(name)
		}
	}
	return nil
}

// listFlag is a flag with several texts, repeated or separated by commas. pflag's
// own drops empty texts, which would hide a key from an unset variable.
type listFlag struct {
	items []string
	set   bool
}

// Set implements pflag.Value. The first one replaces the default.
func (l *listFlag) Set(text string) error {
	items := []string{""}
	if text != "" {
		var err error
		if items, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
			return err
		}
	}
	if !l.set {
		l.items, l.set = nil, true
	}
	l.items = append(l.items, items...)
	return nil
}

// String implements pflag.Value. viper reads a stringSlice back from this text,
// so it has pflag's form: a line of CSV in brackets.
func (l *listFlag) String() string {
	if len(l.items) == 0 {
		return ""
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(l.items) // a Builder does not fail
	w.Flush()
	return "[" + strings.TrimSuffix(line.String(), "\n") + "]"
}

// Type implements pflag.Value.
func (l *listFlag) Type() string { return "stringSlice" }
