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
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/queue"
)

// defaultQueueTimeout is that of the tag. Whoever sets a shorter request-timeout
// beside it has not asked for anything that has no effect.
const defaultQueueTimeout = time.Minute

// longest is the bound of timeouts: beyond any use, and far from overflow.
const longest = 365 * 24 * time.Hour

// validate reports every value that is out of range or contradicts another.
func (c *Config) validate() []error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, About(fmt.Errorf(key+" "+format, args...), key))
	}
	clash := func(key, other, format string, args ...any) {
		errs = append(errs, About(fmt.Errorf(key+" "+format, args...), key, other))
	}
	oneOf(bad, "load-format", c.LoadFormat, "auto", "dummy")
	oneOf(bad, "special-tokens-in-messages", c.SpecialTokens, "text", "parse")
	oneOf(bad, "sampling-defaults", c.SamplingFrom, "model", "openai")
	oneOf(bad, "device", c.Device, "cpu")
	oneOf(bad, "instruction-set", c.InstructionSet, "auto", "amx", "avx512", "avx2", "portable")
	oneOf(bad, "activation-dtype", c.ActivationDType, "auto", "f32", "int8")
	oneOf(bad, "weight-dtype", c.WeightDType, "auto", "f32", "bf16", "f16", "q8_0", "q4_0")
	oneOf(bad, "kv-cache-dtype", c.KVCacheDType, "auto", "f32", "bf16", "f16", "int8")
	oneOf(bad, "kv-layout", c.KVLayout, "contiguous", "paged")
	oneOf(bad, "log-level", c.LogLevel, "debug", "info", "warn", "error")
	oneOf(bad, "log-format", c.LogFormat, "auto", "text", "json")
	within(bad, "port", c.Port, 0, 65535)
	within(bad, "threads", c.Threads, 0, 1024)
	within(bad, "max-body-bytes", c.MaxBodyBytes, 1, 1<<40)
	within(bad, "max-open-requests", c.MaxOpen, 1, 1<<24)
	within(bad, "max-queued-tokens", c.MaxQueuedToken, 1, 1<<40)
	oneOf(bad, "tenant-from", c.TenantFrom, "auto", "api-key", "user")
	if c.TenantFrom == "api-key" && len(c.APIKey) == 0 {
		clash("tenant-from", "api-key", "is api-key, but no api-key is set; set one or take auto")
	}
	c.validateAdminKey(bad, clash)
	within(bad, "max-queued-requests", c.MaxQueued, 0, 1<<24)
	within(bad, "queue-timeout", c.QueueTimeout, 0, longest)
	within(bad, "request-timeout", c.RequestTimeout, 0, longest)
	oneOf(bad, "schedule-policy", c.SchedulePolicy, queue.Policies()...)
	within(bad, "schedule-aging", c.ScheduleAging, 0, longest)
	within(bad, "schedule-seed", c.ScheduleSeed, 0, 1<<31-1)
	within(bad, "fair-input-weight", c.FairInputWeight, 0.001, 1000)
	within(bad, "fair-output-weight", c.FairOutputWeight, 0.001, 1000)
	within(bad, "mem-fraction-static", c.MemFraction, 0, 1)
	within(bad, "max-total-tokens", c.MaxTotalTokens, 0, 1<<40)
	within(bad, "max-running-requests", c.MaxRunning, 0, 1<<20)
	within(bad, "page-size", c.PageSize, 1, 4096)
	oneOf(bad, "radix-eviction-policy", c.EvictionPolicy, policies.Names()...)
	within(bad, "context-length", c.ContextLength, 0, 1<<30)
	if c.ContextLength == 1 {
		bad("context-length", "is 1, it must hold at least one token of prompt and one of output; 0 is the model's own limit")
	}
	within(bad, "max-prefill-tokens", c.MaxPrefillTokens, 1, 1<<30)
	within(bad, "chunked-prefill-size", c.ChunkedPrefillSize, -1, 1<<30)
	within(bad, "schedule-conservativeness", c.Conservativeness, 0.01, 100)
	within(bad, "watchdog-timeout", c.WatchdogTimeout, 0, longest)
	within(bad, "debug-retract-every", c.RetractEvery, 0, 1<<30)
	within(bad, "kv-events-buffer", c.KVEventsBuffer, 1, 1<<30)
	within(bad, "header-timeout", c.HeaderTimeout, time.Nanosecond, longest)
	within(bad, "write-stall-timeout", c.WriteStall, time.Nanosecond, longest)
	within(bad, "health-timeout", c.HealthTimeout, time.Nanosecond, longest)
	within(bad, "drain-timeout", c.DrainTimeout, 0, longest)
	for _, origin := range c.CORSOrigins {
		if !isOrigin(origin) {
			bad("cors-origins", "has %q, it must be * or an origin as browsers send it, like https://chat.example or http://localhost:3000", origin)
		}
	}
	for _, host := range c.AllowedHosts {
		if !isHost(host) {
			bad("allowed-hosts", "has %q, it must be * or a host name or address without scheme, port and path, like chat.example or 10.0.0.7", host)
		}
	}
	if err := paging.CheckSize(c.PageSize); err != nil {
		bad("page-size", "%v", err)
	}
	within(bad, "inter-token-latency-target", c.LatencyTarget, 0, longest)
	if c.LatencyTarget > 0 && c.ChunkedPrefillSize < 0 {
		clash("inter-token-latency-target", "chunked-prefill-size", "is %v, but chunked-prefill-size is %d: a target needs chunks", c.LatencyTarget, c.ChunkedPrefillSize)
	}
	within(bad, "priority-scheduling-preemption-threshold", c.PreemptionDiff, 0, 1<<31)
	if c.Preemption && c.SchedulePolicy != "priority" {
		clash("enable-priority-preemption", "schedule-policy", "is on, but schedule-policy is %q: only the policy priority orders by priority", c.SchedulePolicy)
	}
	if c.ChunkedPrefillSize > 0 && c.ChunkedPrefillSize < c.PageSize {
		clash("chunked-prefill-size", "page-size", "is %d, it must hold at least one page of page-size %d", c.ChunkedPrefillSize, c.PageSize)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		clash("tls-cert", "tls-key", "and tls-key belong together; give both or neither")
	}
	return errs
}

// validateAdminKey refuses an admin key that would be none. No error quotes it.
func (c *Config) validateAdminKey(bad func(string, string, ...any), clash func(string, string, string, ...any)) {
	if slices.Contains(c.APIKey, c.AdminAPIKey) && c.AdminAPIKey != "" {
		clash("admin-api-key", "api-key", "equals an api-key, so that every client with it would be an administrator; choose another one")
	}
	if strings.ContainsFunc(c.AdminAPIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("admin-api-key", "has a space or a character outside ASCII, which does not go into a header; choose another one")
	}
}

// Warnings are settings without the effect that they seem to have. They are not
// errors; whoever starts the engine logs them.
func (c *Config) Warnings() []string {
	var notes []string
	queue := queue.Options{SchedulePolicy: c.SchedulePolicy, CacheDisabled: c.DisableRadixCache}
	if p := queue.Effective(); p != c.SchedulePolicy {
		notes = append(notes, fmt.Sprintf("schedule-policy %s orders by cached prefixes, and disable-radix-cache keeps none: %s is used", c.SchedulePolicy, p))
	}
	if c.LowPriorityFirst && c.SchedulePolicy != "priority" {
		notes = append(notes, fmt.Sprintf("schedule-low-priority-values-first turns the order of schedule-policy priority around, but the policy is %s: it has no effect", c.SchedulePolicy))
	}
	if c.RequestTimeout > 0 && c.QueueTimeout >= c.RequestTimeout && c.QueueTimeout != defaultQueueTimeout {
		notes = append(notes, fmt.Sprintf("queue-timeout %v has no effect: request-timeout %v ends every request by then", c.QueueTimeout, c.RequestTimeout))
	}
	if c.MaxQueued > c.MaxOpen {
		notes = append(notes, fmt.Sprintf("max-queued-requests %d has no effect: max-open-requests lets only %d requests in", c.MaxQueued, c.MaxOpen))
	}
	if c.KVEvents && c.AdminAPIKey == "" && severalKeys(c.APIKey) {
		notes = append(notes, "kv-events tells what all clients have cached, so none of several api-keys opens it; set admin-api-key for their reader")
	}
	if c.KVEvents && c.DisableRadixCache {
		notes = append(notes, "kv-events tells what is cached, and disable-radix-cache keeps nothing: there will be no events")
	}
	return notes
}

// severalKeys reports whether there are two keys that differ.
func severalKeys(keys []string) bool {
	return len(keys) > 0 && slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] })
}

// contradictions reports settings that exclude each other, when both were set
// and not left at their defaults.
func (c *Config) contradictions(values []Value) []error {
	given := map[string]bool{}
	for _, v := range values {
		given[v.Key] = v.Source != "default"
	}
	if given["chunked-prefill-size"] && given["max-prefill-tokens"] && c.ChunkedPrefillSize > c.MaxPrefillTokens {
		return []error{About(fmt.Errorf("chunked-prefill-size is %d and max-prefill-tokens %d: a chunk cannot exceed what a step computes; lower the first or raise the second",
			c.ChunkedPrefillSize, c.MaxPrefillTokens), "chunked-prefill-size", "max-prefill-tokens")}
	}
	return nil
}

func oneOf(bad func(string, string, ...any), key, value string, known ...string) {
	if !slices.Contains(known, value) {
		bad(key, "is %q, it must be %s", value, either(known))
	}
}

// either words a choice: "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// isOrigin tells whether a text can equal an Origin header: a scheme and a host
// in lower case, nothing behind them. Any other would silently match nobody.
func isOrigin(text string) bool {
	if text == "*" || text == "null" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && text == u.Scheme+"://"+strings.ToLower(u.Host)
}

// isHost tells whether a text can be the name in a Host header. Any other would
// silently match nobody.
func isHost(text string) bool {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.Is6() && (text[0] == '[') == (text[len(text)-1] == ']') || text == a.String()
	}
	return text == "*" || text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func within[T cmp.Ordered](bad func(string, string, ...any), key string, value, low, high T) {
	if !(value >= low && value <= high) {
		bad(key, "is %v, it must be in [%v, %v]", value, low, high)
	}
}
