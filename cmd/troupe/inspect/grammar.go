package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/troupe-engine/troupe/cmd/troupe/cli"
	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/model"
	"github.com/troupe-engine/troupe/model/grammar"
	"github.com/troupe-engine/troupe/model/grammar/vocab"
	"github.com/troupe-engine/troupe/model/tokenizer"
)

func newGrammar() *cobra.Command {
	c := &cobra.Command{
		Use: "grammar", Short: `Try grammars: JSONL {"kind","grammar","inputs","sample"} on stdin to JSONL of times, verdicts and samples`, Args: cli.NoArgs,
		Long: "Try grammars with a model's tokenizer; its weights are not needed. Each line of stdin is an\n" +
			"object with\n" +
			"  kind     json_schema, json_schema_compact, json, regex, ebnf, gbnf, lark, structural_tag, output\n" +
			"           or choice\n" +
			"  grammar  its text, or for the kinds in JSON the JSON itself; not for json\n" +
			"  inputs   texts to check, each in the tokens of the model's tokenizer\n" +
			"  sample   number of texts to draw, 0 by default\n" +
			"  seed     of these draws, 0 by default: the same seed gives the same texts\n" +
			"Each line of stdout is an object. If the grammar is refused, it has refused, the reason, and at,\n" +
			"the place. Otherwise:\n" +
			"  compile_us  microseconds\n" +
			"  inputs      for each, accepted: whether each token is allowed and the text may end; and mask_us:\n" +
			"              microseconds for the mask before each token and at the end. If it is not accepted,\n" +
			"              at: the byte where the first token that is not allowed begins, or the length if the\n" +
			"              text is too short; allowed_tokens: how many tokens are allowed there; and allowed:\n" +
			"              some of them\n" +
			"  samples     the texts that were drawn\n" +
			"  omitted     what is left out of the schemas of tools that are not strict: at and keyword\n" +
			"The name of a special token in an input is that token where the grammar allows it, and text\n" +
			"elsewhere. An input may end with an end token.\n" +
			"\n" +
			"Samples are drawn from the masks alone, and short ones are likely. Each step draws what the next\n" +
			"token begins with (a digit, a letter, a bracket, a special token, …), then one of the tokens that\n" +
			"begin so. With a chance that grows from 1/16 to 1 within 240 tokens, a step goes to the end instead:\n" +
			"the text ends if it may, or goes on with the shortest way to an end. A sample that does not end\n" +
			"within 20,000 tokens is null, and sample_error says why.",
		Example: `  echo '{"kind":"regex","grammar":"[a-c]+1?","inputs":["abc1","ad"],"sample":3}' |
    troupe inspect grammar --model PATH`,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, files, _, err := openFiles(c)
			if err != nil {
				return err
			}
			r, err := newGrammarReader(files)
			if err != nil {
				return cfg.Explain(configs.About(err, "model"))
			}
			return eachLine(c.InOrStdin(), c.OutOrStdout(), r.line)
		},
	}
	configs.AddEngineFlags(c.Flags())
	return c
}

// grammarReader tries grammars with one model's vocabulary.
type grammarReader struct {
	tok   *tokenizer.Tokenizer
	vocab *vocab.Vocabulary
	names *specialNames
	mask  []uint32
}

func newGrammarReader(files model.Files) (*grammarReader, error) {
	tok, v, err := files.Vocabulary()
	if err != nil {
		return nil, err
	}
	return &grammarReader{tok, v, namesOf(v), make([]uint32, v.Words())}, nil
}

// grammarLine is a line of stdin.
type grammarLine struct {
	source grammar.Source
	inputs []*string
	sample int
	seed   uint64
}

// maxSamples is the most texts that one line may ask for.
const maxSamples = 10_000

func parseGrammarLine(line []byte) (l grammarLine, err error) {
	if !utf8.Valid(line) {
		return l, errors.New("the line is not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil && json.Valid(line) {
		return l, errors.New(`expected an object with "kind" and "grammar"`)
	} else if err != nil {
		return l, fmt.Errorf(`expected an object with "kind" and "grammar": %w`, err)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var into any
		want := ""
		switch key {
		case "kind":
			into, want = &l.source.Kind, "a string"
		case "grammar":
			continue
		case "inputs":
			into, want = &l.inputs, "a list of strings"
		case "sample":
			into, want = &l.sample, "a whole number"
		case "seed":
			into, want = &l.seed, "a whole number of at least 0 and at most 64 bits"
		default:
			return l, fmt.Errorf("unknown field %q; the fields are kind, grammar, inputs, sample and seed", key)
		}
		if json.Unmarshal(fields[key], into) != nil || slices.Contains(l.inputs, nil) {
			return l, fmt.Errorf("%s is %.40s; it must be %s", key, fields[key], want)
		}
	}
	switch {
	case l.source.Kind == "":
		return l, errors.New(`"kind" is missing`)
	case l.sample < 0 || l.sample > maxSamples:
		return l, fmt.Errorf("sample is %d; it must be between 0 and %d", l.sample, maxSamples)
	}
	l.source.Text, err = grammarText(l.source.Kind, fields["grammar"])
	return l, err
}

// grammarText returns the source in the field grammar. JSON is taken as it is: numbers and
// the order of keys have a meaning.
func grammarText(kind grammar.Kind, field json.RawMessage) (text string, err error) {
	isText := json.Unmarshal(field, &text) == nil && string(field) != "null"
	switch kind {
	case grammar.JSON:
		if field != nil && (!isText || text != "") {
			return "", errors.New(`"grammar" is not for the kind json; leave it out, or use the kind json_schema`)
		}
		return "", nil
	case grammar.Regex, grammar.EBNF, grammar.GBNF, grammar.Lark:
		if field != nil && !isText {
			return "", fmt.Errorf(`"grammar" must be a string for the kind %s`, kind)
		}
	}
	if field == nil {
		return "", errors.New(`"grammar" is missing`)
	}
	if !isText {
		text = string(field)
	}
	return text, nil
}

// microseconds are written as such, with two decimals.
type microseconds time.Duration

func (m microseconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(m)/float64(time.Microsecond), 'f', 2, 64), nil
}

// grammarRefused is a line of stdout for a grammar that is refused.
type grammarRefused struct {
	Refused string `json:"refused"`
	At      string `json:"at"`
}

// grammarTried is a line of stdout.
type grammarTried struct {
	Compile     microseconds   `json:"compile_us"`
	Inputs      []grammarInput `json:"inputs"`
	Samples     []*string      `json:"samples"`
	SampleError string         `json:"sample_error,omitempty"` // the first one
	Omitted     []grammarLess  `json:"omitted,omitempty"`
}

// grammarLess is a keyword that the grammar leaves out.
type grammarLess struct {
	At      string `json:"at"`
	Keyword string `json:"keyword"`
}

func (r *grammarReader) line(line []byte) (any, error) {
	l, err := parseGrammarLine(line)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	g, err := grammar.Compile(l.source, r.vocab, grammar.Limits{})
	tried := grammarTried{Compile: microseconds(time.Since(start)), Inputs: []grammarInput{}, Samples: []*string{}}
	if refused, ok := errors.AsType[*grammar.Error](err); ok {
		at := refused.At
		refused.At = "" // it is not part of the reason here
		return grammarRefused{refused.Error(), at}, nil
	}
	for _, one := range g.Omitted() {
		tried.Omitted = append(tried.Omitted, grammarLess(one))
	}
	for _, text := range l.inputs {
		tried.Inputs = append(tried.Inputs, r.input(g, *text))
	}
	random := rand.New(rand.NewPCG(l.seed, 0))
	for range l.sample {
		text, err := g.Sample(random)
		if err == nil {
			tried.Samples = append(tried.Samples, &text)
			continue
		}
		tried.Samples = append(tried.Samples, nil)
		if tried.SampleError == "" {
			tried.SampleError = err.Error()
		}
	}
	return tried, nil
}
