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
	"github.com/troupe-engine/troupe/memory/radix/policies"
	"github.com/troupe-engine/troupe/sched/queue"
	"github.com/troupe-engine/troupe/sched/route"
)

// longest is the upper limit of timeouts: beyond any use, and far from overflow.
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
	oneOf(bad, "load-format", c.Open.LoadFormat, "auto", "dummy")
	oneOf(bad, "special-tokens-in-messages", c.HTTP.SpecialTokens, "text", "parse")
	oneOf(bad, "sampling-defaults", c.SamplingFrom, "model", "openai")
	oneOf(bad, "device", c.Device, "cpu")
	oneOf(bad, "instruction-set", c.CPU.InstructionSet, "auto", "amx", "avx512", "avx2", "portable")
	oneOf(bad, "activation-dtype", c.CPU.Activations, "auto", "f32", "int8")
	oneOf(bad, "weight-dtype", c.CPU.WeightDType, "auto", "f32", "bf16", "f16", "q8_0", "q4_0")
	oneOf(bad, "kv-cache-dtype", c.KVCacheDType, "auto", "f32", "bf16", "f16", "int8")
	oneOf(bad, "kv-layout", c.KVLayout, "contiguous", "paged")
	oneOf(bad, "log-level", c.LogLevel, "debug", "info", "warn", "error")
	oneOf(bad, "log-format", c.LogFormat, "auto", "text", "json")
	within(bad, "port", c.HTTP.Port, 0, 65535)
	within(bad, "threads", c.CPU.Threads, 0, 1024)
	within(bad, "data-parallel-size", c.DataParallel, 1, 64)
	oneOf(bad, "load-balance-method", c.LoadBalance, route.Policies()...)
	within(bad, "max-body-bytes", c.HTTP.MaxBodyBytes, 1, 1<<40)
	within(bad, "max-open-requests", c.Requests.MaxOpenRequests, 1, 1<<24)
	within(bad, "max-queued-tokens", c.Requests.MaxQueuedTokens, 1, 1<<40)
	oneOf(bad, "tenant-from", c.HTTP.TenantFrom, "auto", "api-key", "user")
	if c.HTTP.TenantFrom == "api-key" && len(c.HTTP.APIKeys) == 0 {
		clash("tenant-from", "api-key", "is api-key, but no api-key is set; set one, or use auto")
	}
	c.validateAdminKey(bad, clash)
	within(bad, "max-queued-requests", c.Requests.MaxQueuedRequests, 0, 1<<24)
	within(bad, "queue-timeout", c.Requests.QueueTimeout, 0, longest)
	within(bad, "request-timeout", c.Requests.RequestTimeout, 0, longest)
	oneOf(bad, "schedule-policy", c.Queue.SchedulePolicy, queue.Policies()...)
	within(bad, "schedule-aging", c.ScheduleAging, 0, longest)
	within(bad, "schedule-seed", c.ScheduleSeed, 0, 1<<31-1)
	within(bad, "fair-input-weight", c.Queue.FairInputWeight, 0.001, 1000)
	within(bad, "fair-output-weight", c.Queue.FairOutputWeight, 0.001, 1000)
	within(bad, "mem-fraction-static", c.Pool.MemFraction, 0, 1)
	within(bad, "max-total-tokens", c.Pool.MaxTotalTokens, 0, 1<<40)
	within(bad, "max-running-requests", c.Pool.MaxRunning, 0, 1<<20)
	within(bad, "page-size", c.PageSize, 1, 4096)
	oneOf(bad, "radix-eviction-policy", c.EvictionPolicy, policies.Names()...)
	within(bad, "context-length", c.Open.ContextLength, 0, 1<<30)
	if c.Open.ContextLength == 1 {
		bad("context-length", "is 1; it must be at least 2, for one token of prompt and one of output, or 0 for the model's limit")
	}
	within(bad, "max-prefill-tokens", c.Batch.MaxPrefillTokens, 1, 1<<30)
	within(bad, "chunked-prefill-size", c.Batch.ChunkedPrefillSize, -1, 1<<30)
	within(bad, "schedule-conservativeness", c.Batch.Conservativeness, 0.01, 100)
	within(bad, "watchdog-timeout", c.WatchdogTimeout, 0, longest)
	within(bad, "debug-retract-every", c.Batch.RetractEvery, 0, 1<<30)
	within(bad, "kv-events-buffer", c.Events.Keep, 1, 1<<30)
	within(bad, "header-timeout", c.HTTP.HeaderTimeout, time.Nanosecond, longest)
	within(bad, "write-stall-timeout", c.HTTP.WriteStall, time.Nanosecond, longest)
	within(bad, "health-timeout", c.HTTP.HealthTimeout, time.Nanosecond, longest)
	within(bad, "drain-timeout", c.DrainTimeout, 0, longest)
	for _, origin := range c.HTTP.CORSOrigins {
		if !isOrigin(origin) {
			bad("cors-origins", "has %q; it must be * or an origin as browsers send it, like https://chat.example or http://localhost:3000", origin)
		}
	}
	for _, host := range c.HTTP.AllowedHosts {
		if !isHost(host) {
			bad("allowed-hosts", "has %q; it must be * or a host name or address without scheme, port and path, like chat.example or 10.0.0.7", host)
		}
	}
	if err := paging.CheckSize(c.PageSize); err != nil {
		bad("page-size", "%v", err)
	}
	within(bad, "inter-token-latency-target", c.Batch.InterTokenLatencyTarget, 0, longest)
	if c.Batch.InterTokenLatencyTarget > 0 && c.Batch.ChunkedPrefillSize < 0 {
		clash("inter-token-latency-target", "chunked-prefill-size", "is %v, but chunked-prefill-size is %d; a target requires chunked prefill", c.Batch.InterTokenLatencyTarget, c.Batch.ChunkedPrefillSize)
	}
	within(bad, "priority-scheduling-preemption-threshold", c.Batch.PreemptionThreshold, 0, 1<<31)
	if c.Batch.PriorityPreemption && c.Queue.SchedulePolicy != "priority" {
		clash("enable-priority-preemption", "schedule-policy", "is on, but schedule-policy is %q; only the policy priority orders by priority", c.Queue.SchedulePolicy)
	}
	if c.Batch.ChunkedPrefillSize > 0 && c.Batch.ChunkedPrefillSize < c.PageSize {
		clash("chunked-prefill-size", "page-size", "is %d; it must hold at least one page of page-size %d", c.Batch.ChunkedPrefillSize, c.PageSize)
	}
	if (c.HTTP.TLSCert == "") != (c.HTTP.TLSKey == "") {
		errs = append(errs, About(errors.New("set both tls-cert and tls-key, or neither"), "tls-cert", "tls-key"))
	}
	if c.given("chunked-prefill-size") && c.given("max-prefill-tokens") && c.Batch.ChunkedPrefillSize > c.Batch.MaxPrefillTokens {
		errs = append(errs, About(fmt.Errorf("chunked-prefill-size is %d and max-prefill-tokens is %d: a chunk cannot exceed the tokens of a step; lower the first or raise the second",
			c.Batch.ChunkedPrefillSize, c.Batch.MaxPrefillTokens), "chunked-prefill-size", "max-prefill-tokens"))
	}
	return errs
}

// given reports whether a setting was set and not left at its default.
func (c *Config) given(key string) bool {
	source, ok := c.sources[key]
	return ok && source != fromDefault
}

// validateAdminKey refuses an admin key that protects nothing. No error quotes it.
func (c *Config) validateAdminKey(bad func(string, string, ...any), clash func(string, string, string, ...any)) {
	if slices.Contains(c.HTTP.APIKeys, c.HTTP.AdminAPIKey) && c.HTTP.AdminAPIKey != "" {
		clash("admin-api-key", "api-key", "equals an api-key, so every client with that key would be an administrator; choose another one")
	}
	if strings.ContainsFunc(c.HTTP.AdminAPIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		bad("admin-api-key", "has a space or a character outside ASCII, which a header cannot carry; choose another one")
	}
}

// Warnings are about settings without the effect that they seem to have. They
// are not errors; the log shows them when the engine starts.
func (c *Config) Warnings() []string {
	var notes []string
	order := queue.Options{SchedulePolicy: c.Queue.SchedulePolicy, CacheDisabled: c.DisableRadixCache}
	if p := order.Effective(); p != c.Queue.SchedulePolicy {
		notes = append(notes, fmt.Sprintf("schedule-policy %s orders by cached prefixes, but disable-radix-cache is on: %s is used", c.Queue.SchedulePolicy, p))
	}
	if c.LowPriorityFirst && c.Queue.SchedulePolicy != "priority" {
		notes = append(notes, fmt.Sprintf("schedule-low-priority-values-first has no effect: it reverses the order of schedule-policy priority, but the policy is %s", c.Queue.SchedulePolicy))
	}
	if c.Requests.RequestTimeout > 0 && c.Requests.QueueTimeout >= c.Requests.RequestTimeout && c.given("queue-timeout") {
		notes = append(notes, fmt.Sprintf("queue-timeout %v has no effect: request-timeout %v ends every request by then", c.Requests.QueueTimeout, c.Requests.RequestTimeout))
	}
	if c.Requests.MaxQueuedRequests > c.Requests.MaxOpenRequests {
		notes = append(notes, fmt.Sprintf("max-queued-requests %d has no effect: max-open-requests allows only %d requests", c.Requests.MaxQueuedRequests, c.Requests.MaxOpenRequests))
	}
	if c.Cache.Events && c.HTTP.AdminAPIKey == "" && severalKeys(c.HTTP.APIKeys) {
		notes = append(notes, "kv-events shows what all clients have cached, so with several api-keys it requires the admin key; set admin-api-key, and read the events with it")
	}
	if c.Cache.Events && c.DisableRadixCache {
		notes = append(notes, "kv-events has no effect: disable-radix-cache is on, so nothing is cached")
	}
	return notes
}

// severalKeys reports whether there are two keys that differ.
func severalKeys(keys []string) bool {
	return len(keys) > 0 && slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] })
}

func oneOf(bad func(string, string, ...any), key, value string, known ...string) {
	if !slices.Contains(known, value) {
		bad(key, "is %q; it must be %s", value, either(known))
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

// isOrigin reports whether a text can equal an Origin header: a scheme and a host
// in lower case, nothing after them. Any other would silently never match.
func isOrigin(text string) bool {
	if text == "*" || text == "null" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != "" && text == u.Scheme+"://"+strings.ToLower(u.Host)
}

// isHost reports whether a text can be the name in a Host header. Any other would
// silently never match.
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
		bad(key, "is %v; it must be between %v and %v", value, low, high)
	}
}
