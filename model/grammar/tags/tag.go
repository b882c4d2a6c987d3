package tags

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/troupe-engine/troupe/model/grammar/cfg"
	"github.com/troupe-engine/troupe/model/grammar/rules"
)

// tag is a text that begins something, and what follows it.
type tag struct {
	begin string
	rest  cfg.Symbol // content and end
}

// tag reads begin, content and end.
func (c *compiler) tag(o *object, depth int) (tag, error) {
	if kind, err := o.text("type", "tag"); err != nil || kind != "tag" {
		return tag{}, o.fail("type", "expected tag")
	}
	begin, err := o.needText("begin")
	if err != nil {
		return tag{}, err
	}
	var ends []string
	var one string
	if _, err := o.read("end", &ends, "a string or a list of strings"); err != nil {
		if _, err = o.read("end", &one, "a string or a list of strings"); err != nil {
			return tag{}, err
		}
		ends = []string{one}
	} else if len(ends) == 0 {
		return tag{}, o.fail("end", "this field is missing")
	}
	rest, err := c.content(o, ends, depth)
	return tag{begin, rest}, err
}

// content reads the content of a tag and adds its ends.
func (c *compiler) content(o *object, ends []string, depth int) (cfg.Symbol, error) {
	var stops []string
	for _, e := range ends {
		if e != "" {
			stops = append(stops, e)
		}
	}
	source := o.need("content")
	var inner struct {
		Type     string   `json:"type"`
		Excludes []string `json:"excludes"`
	}
	_ = json.Unmarshal(source, &inner) // format says what is wrong with it
	if inner.Type == "any_text" && len(stops) < len(ends) && len(ends) > 1 {
		return 0, o.fail("end", "free text cannot end in nothing and in something else")
	}
	content, err := c.format(source, o.at+"/content", stops, depth+1)
	if err != nil {
		return 0, err
	}
	if inner.Type == "any_text" && len(stops) > 0 {
		// The text goes up to the first end, however they overlap.
		var list []cfg.Symbol
		for _, e := range stops {
			list = append(list, c.b.Terminal(rules.Upto(c.b.Set, e, stops, inner.Excludes)))
		}
		return c.b.Choice(list...), nil
	}
	var list []cfg.Symbol
	for _, e := range ends {
		list = append(list, c.b.Literal(e))
	}
	return c.b.Sequence(content, c.b.Choice(list...)), nil
}

func (c *compiler) tags(o *object, depth int) ([]tag, error) {
	list, err := o.list("tags")
	if err != nil {
		return nil, err
	}
	var out []tag
	for i, source := range list {
		t, err := c.object(source, fmt.Sprintf("%s/tags/%d", o.at, i))
		if err != nil {
			return nil, err
		}
		one, err := c.tag(t, depth+1)
		if err != nil {
			return nil, err
		}
		if err := t.done(); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// triggered reads free text in which a trigger must be the beginning of one of
// the tags.
func (c *compiler) triggered(o *object, stops []string, depth int) (cfg.Symbol, error) {
	triggers, err := o.texts("triggers")
	if err != nil {
		return 0, err
	}
	list, err := c.tags(o, depth)
	if err != nil {
		return 0, err
	}
	d := rules.Dispatch{}
	if d.Excluded, err = o.texts("excludes"); err != nil {
		return 0, err
	}
	d.Excluded = append(d.Excluded, stops...)
	if d.AtLeastOne, err = o.flag("at_least_one", false); err != nil {
		return 0, err
	}
	once, err := o.flag("stop_after_first", false)
	d.Loop = !once
	if err != nil {
		return 0, err
	}
	return c.trigger(o, d, triggers, list)
}

// trigger compiles the dispatch of triggers to tags.
func (c *compiler) trigger(o *object, d rules.Dispatch, triggers []string, list []tag) (cfg.Symbol, error) {
	if len(triggers) == 0 {
		return 0, o.fail("triggers", "expected at least one string")
	}
	taken := make([]int, len(list))
	for _, trigger := range triggers {
		var then []cfg.Symbol
		for i, t := range list {
			if rest, ok := strings.CutPrefix(t.begin, trigger); ok {
				then = append(then, c.b.Sequence(c.b.Literal(rest), t.rest))
				taken[i]++
			}
		}
		if len(then) == 0 {
			return 0, o.fail("triggers", fmt.Sprintf("no tag begins with %q", trigger))
		}
		d.Branches = append(d.Branches, rules.Branch{Word: trigger, Then: c.b.Choice(then...)})
	}
	for i, n := range taken {
		if n != 1 {
			return 0, o.fail("triggers", fmt.Sprintf("the tag %q must begin with exactly one trigger, not %d", list[i].begin, n))
		}
	}
	return d.Compile(c.b), nil
}

// separated reads tags with a text between them, and nothing else.
func (c *compiler) separated(o *object, depth int) (cfg.Symbol, error) {
	list, err := c.tags(o, depth)
	if err != nil {
		return 0, err
	}
	separator, err := o.needText("separator")
	if err != nil {
		return 0, err
	}
	needed, err := o.flag("at_least_one", false)
	if err != nil {
		return 0, err
	}
	once, err := o.flag("stop_after_first", false)
	if err != nil {
		return 0, err
	}
	any := c.b.Nonterminal("tag")
	for _, t := range list {
		c.b.Add(any, c.b.Literal(t.begin), t.rest)
	}
	all := any
	if !once {
		all = c.b.Nonterminal("tags")
		c.b.Add(all, any)
		c.b.Add(all, all, c.b.Literal(separator), any)
	}
	if needed {
		return all, nil
	}
	return c.b.Optional(all), nil
}

// dispatch reads free text in which words lead to formats.
func (c *compiler) dispatch(o *object, stops []string, depth int) (cfg.Symbol, error) {
	list, err := o.list("rules")
	if err != nil {
		return 0, err
	}
	d := rules.Dispatch{}
	for i, source := range list {
		at := fmt.Sprintf("%s/rules/%d", o.at, i)
		var pair []json.RawMessage
		var word string
		if json.Unmarshal(source, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &word) != nil || word == "" {
			return 0, &cfg.Error{At: at, Reason: "expected a pair of a word and a format"}
		}
		then, err := c.format(pair[1], at+"/1", nil, depth+1)
		if err != nil {
			return 0, err
		}
		d.Branches = append(d.Branches, rules.Branch{Word: word, Then: then})
	}
	if d.Excluded, err = o.texts("excludes"); err != nil {
		return 0, err
	}
	d.Excluded = append(d.Excluded, stops...)
	d.Loop, err = o.flag("loop", true)
	return d.Compile(c.b), err
}

// structures reads SGLang's older form.
func (c *compiler) structures(o *object) (cfg.Symbol, error) {
	triggers, err := o.texts("triggers")
	if err != nil {
		return 0, err
	}
	sources, err := o.list("structures")
	if err != nil {
		return 0, err
	}
	var list []tag
	for i, source := range sources {
		s, err := c.object(source, fmt.Sprintf("/structures/%d", i))
		if err != nil {
			return 0, err
		}
		begin, err := s.needText("begin")
		if err != nil {
			return 0, err
		}
		end, err := s.needText("end")
		if err != nil {
			return 0, err
		}
		content, err := c.schema(s, "schema")
		if err != nil {
			return 0, err
		}
		if err := s.done(); err != nil {
			return 0, err
		}
		list = append(list, tag{begin, c.b.Sequence(content, c.b.Literal(end))})
	}
	return c.trigger(o, rules.Dispatch{Loop: true}, triggers, list)
}
