package configs

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"
)

// AddFlags declares a flag for every setting.
func AddFlags(flags *pflag.FlagSet) { addFlags(flags, Default().settings(), 0) }

// TopicOfFlag is the annotation of a flag with the topic of its setting.
const TopicOfFlag = "topic"

// AddEngineFlags declares a flag for every setting that has an effect without a server.
func AddEngineFlags(flags *pflag.FlagSet) {
	addFlags(flags, Default().settings(), serve)
}

// addFlags declares the flags of settings without a mark.
func addFlags(flags *pflag.FlagSet, list []setting, without mark) {
	topic := ""
	for _, s := range list {
		topic = cmp.Or(s.topic, topic)
		if s.is(without) {
			continue
		}
		addFlag(flags, s.key, s.usage, s.value())
		if s.alias != "" {
			addFlag(flags, s.alias, "alias of --"+s.key, s.value())
		}
		for _, name := range s.names() {
			flags.Lookup(name).Annotations = map[string][]string{TopicOfFlag: {topic}}
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
