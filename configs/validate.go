package configs

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/troupe-engine/troupe/internal/paging"
	"github.com/troupe-engine/troupe/sched/queue"
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

// validate reports every value that is out of range or contradicts another.
func (c *Config) validate() (errs []error) {
	for _, s := range c.settings() {
		if s.check != nil {
			for _, problem := range s.check(s.value()) {
				errs = append(errs, About(errors.New(s.key+" "+problem), s.key))
			}
		}
	}
	clash := func(when bool, key, other, format string, args ...any) {
		if when {
			errs = append(errs, About(fmt.Errorf(format, args...), key, other))
		}
	}
	b, chunk := &c.Batch, c.Batch.ChunkedPrefillSize
	clash(c.HTTP.TenantFrom == "api-key" && len(c.HTTP.APIKeys) == 0, "tenant-from", "api-key",
		"tenant-from is api-key, but no api-key is set; set one, or use auto")
	clash(c.HTTP.AdminAPIKey != "" && slices.Contains(c.HTTP.APIKeys, c.HTTP.AdminAPIKey), "admin-api-key", "api-key",
		"admin-api-key equals an api-key, so every client with that key would be an administrator; choose another one")
	clash(b.InterTokenLatencyTarget > 0 && chunk < 0, "inter-token-latency-target", "chunked-prefill-size",
		"inter-token-latency-target is %v, but chunked-prefill-size is %d; a target requires chunked prefill", b.InterTokenLatencyTarget, chunk)
	clash(b.PriorityPreemption && c.Queue.SchedulePolicy != "priority", "enable-priority-preemption", "schedule-policy",
		"enable-priority-preemption requires schedule-policy priority, but schedule-policy is %q; change one of them", c.Queue.SchedulePolicy)
	clash(chunk > 0 && chunk < c.PageSize, "chunked-prefill-size", "page-size",
		"chunked-prefill-size is %d; it must hold at least one page of page-size %d", chunk, c.PageSize)
	clash((c.HTTP.TLSCert == "") != (c.HTTP.TLSKey == ""), "tls-cert", "tls-key", "set both tls-cert and tls-key, or neither")
	clash(c.given("chunked-prefill-size") && c.given("max-prefill-tokens") && chunk > b.MaxPrefillTokens, "chunked-prefill-size", "max-prefill-tokens",
		"chunked-prefill-size is %d and max-prefill-tokens is %d: a chunk cannot exceed the tokens of a step; lower the first or raise the second", chunk, b.MaxPrefillTokens)
	return errs
}

func (c *Config) given(key string) bool {
	source, ok := c.sources[key]
	return ok && source != fromDefault
}

// Warnings returns notes on settings without the expected effect, for the log.
func (c *Config) Warnings() (notes []string) {
	warn := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	policy, r, keys := c.Queue.SchedulePolicy, &c.Requests, c.HTTP.APIKeys
	used := (&queue.Options{SchedulePolicy: policy, CacheDisabled: c.DisableRadixCache}).Effective()
	warn(used != policy, "schedule-policy %s requires the prefix cache, which disable-radix-cache turns off; using %s instead", policy, used)
	warn(c.LowPriorityFirst && policy != "priority",
		"schedule-low-priority-values-first has no effect: it reverses the order of schedule-policy priority, but the policy is %s", policy)
	warn(r.RequestTimeout > 0 && r.QueueTimeout >= r.RequestTimeout && c.given("queue-timeout"),
		"queue-timeout %v has no effect: request-timeout %v ends every request no later than that", r.QueueTimeout, r.RequestTimeout)
	warn(r.MaxQueuedRequests > r.MaxOpenRequests,
		"max-queued-requests %d has no effect: max-open-requests allows only %d requests", r.MaxQueuedRequests, r.MaxOpenRequests)
	several := slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] })
	warn(c.Cache.Events && c.HTTP.AdminAPIKey == "" && several,
		"kv-events reveals what all clients have cached; with several api-keys it requires admin-api-key: set it, and read the events with that key")
	warn(c.Cache.Events && c.DisableRadixCache, "kv-events has no effect: disable-radix-cache is on, so nothing is cached")
	return notes
}

// List formats words as "a, b or c", or with another conjunction.
func List(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
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

// isHost reports whether a text can be the name in a Host header; others never match.
func isHost(text string) bool {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.Is6() && (text[0] == '[') == (text[len(text)-1] == ']') || text == a.String()
	}
	return text == "*" || text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
