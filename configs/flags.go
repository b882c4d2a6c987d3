package configs

import (
	"cmp"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags declares a flag for every setting.
func AddFlags(flags *pflag.FlagSet) { addFlags(flags, Default().settings()) }

// AddEngineFlags declares a flag for every setting that has an effect without a server.
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
		flags.StringSlice(name, x, usage)
		f := flags.Lookup(name)
		f.Value, f.DefValue = listFlag{f.Value}, "" // help shows no default
	}
}

// changedFlag returns the flag of a setting, under either name, if it was set, or nil.
func (s *setting) changedFlag(flags *pflag.FlagSet) *pflag.Flag {
	for _, name := range s.names() {
		if flags.Changed(name) {
			return flags.Lookup(name)
		}
	}
	return nil
}

// listFlag is pflag's list of strings, but an empty text is an empty item. pflag drops
// it, so that an API key from an unset variable would not be noticed.
type listFlag struct{ pflag.Value }

func (l listFlag) Set(text string) error { return l.Value.Set(cmp.Or(text, `""`)) }
