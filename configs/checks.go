package configs

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
)

// longest is the upper limit of timeouts, far from overflow.
const longest = 365 * 24 * time.Hour

// A check returns what is wrong with a value; the text follows the setting's name.
type check func(value any) (problems []string)

func within[T cmp.Ordered](low, high T) check {
	return func(value any) []string {
		if v := value.(T); v >= low && v <= high { // false for NaN
			return nil
		}
		return []string{fmt.Sprintf("is %v; it must be between %v and %v", value, low, high)}
	}
}

func oneOf(known ...string) check {
	return func(value any) []string {
		if slices.Contains(known, value.(string)) {
			return nil
		}
		return []string{fmt.Sprintf("is %q; it must be %s", value, List(known, "or"))}
	}
}

// each accepts lists of valid items.
func each(valid func(string) bool, description string) check {
	return func(value any) (problems []string) {
		for _, item := range value.([]string) {
			if !valid(item) {
				problems = append(problems, fmt.Sprintf("has the entry %q, which must be %s", item, description))
			}
		}
		return problems
	}
}

func pageSize(value any) []string {
	problems := within(1, 4096)(value)
	if err := paging.CheckSize(value.(int)); err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

func contextLength(value any) []string {
	if value == 1 {
		return []string{"is 1; it must be at least 2 (one token of prompt and one of output), or 0 for the model's limit"}
	}
	return within(0, 1<<30)(value)
}

// headerValue accepts keys that a header can contain. Errors must not quote a key.
func headerValue(value any) []string {
	if strings.ContainsFunc(value.(string), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return []string{"has a space or a character outside ASCII, which a header cannot carry; choose another one"}
	}
	return nil
}

// isOrigin reports whether a text can equal an Origin header: a scheme and a host in
// lower case, and nothing else. Any other text would never match.
func isOrigin(text string) bool {
	if text == "*" || text == "null" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && text == u.Scheme+"://"+strings.ToLower(u.Host)
}

// isAlias reports whether a text is NAME=MODEL.
func isAlias(text string) bool {
	name, target, ok := strings.Cut(text, "=")
	return ok && KeyName.MatchString(name) && target != "" && strings.TrimSpace(target) == target
}

// Alias is the model that a short name stands for; "": the name is not an alias.
func (c *Config) Alias(name string) string {
	for _, alias := range c.ModelAliases {
		if short, target, _ := strings.Cut(alias, "="); short == name {
			return target
		}
	}
	return ""
}

// isHost reports whether a text can be the name in a Host header; others never match.
func isHost(text string) bool {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.Is6() && (text[0] == '[') == (text[len(text)-1] == ']') || text == a.String()
	}
	return text == "*" || text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
