package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func load(t *testing.T, yaml string, env []string, args ...string) (*Config, []Value, error) {
	t.Helper()
	file := ""
	if yaml != "" {
		file = filepath.Join(t.TempDir(), "troupe.yaml")
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	defer setenv(t, env)()
	c, err := Load(file, flags)
	if c == nil {
		return nil, nil, err
	}
	return c, c.Values(), err
}

// setenv sets variables of the process and returns what takes them back.
func setenv(t interface{ Fatal(...any) }, env []string) (restore func()) {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, e := range env {
			name, _, _ := strings.Cut(e, "=")
			os.Unsetenv(name)
		}
	}
}

func TestDefaultsAreValid(t *testing.T) {
	c, values, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Port != 30000 || c.HTTP.Host != "127.0.0.1" || c.PageSize != 16 || c.HTTP.WriteStall != 30*time.Second || c.HTTP.APIKeys != nil {
		t.Errorf("defaults: %+v", c)
	}
	for _, v := range values {
		if v.Source != "default" {
			t.Errorf("%s comes from %s", v.Key, v.Source)
		}
	}
}

func TestLaterSourcesWin(t *testing.T) {
	yaml := "port: 1001\npage-size: 4\nthreads: 3\napi-key: [a, b]\n"
	env := []string{"TROUPE_PORT=1002", "TROUPE_PAGE_SIZE=8", "TROUPE_CONFORMANCE=/data"}
	c, values, err := load(t, yaml, env, "--port", "1003", "--drain-timeout", "5s")
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Port != 1003 || c.PageSize != 8 || c.CPU.Threads != 3 || c.DrainTimeout != 5*time.Second || strings.Join(c.HTTP.APIKeys, " ") != "a b" {
		t.Errorf("%+v", c)
	}
	want := map[string]string{"port": "flag --port", "page-size": "environment TROUPE_PAGE_SIZE", "host": "default"}
	for _, v := range values {
		if w, ok := want[v.Key]; ok && v.Source != w {
			t.Errorf("%s comes from %q, want %q", v.Key, v.Source, w)
		}
		if v.Key == "threads" && !strings.HasPrefix(v.Source, "file ") {
			t.Errorf("threads comes from %q", v.Source)
		}
	}
}

// Either name of a setting counts, in every source, and a later source wins
// under whatever name.
func TestSecondNames(t *testing.T) {
	for _, c := range []struct {
		yaml string
		env  []string
		args []string
		want int
	}{
		{yaml: "prefill-chunk-size: 256", want: 256},
		{yaml: "prefill-chunk-size: 256\nchunked-prefill-size: 256", want: 256},
		{yaml: "chunked-prefill-size: 512", env: []string{"TROUPE_PREFILL_CHUNK_SIZE=128"}, want: 128},
		{env: []string{"TROUPE_PREFILL_CHUNK_SIZE=128"}, args: []string{"--chunked-prefill-size", "64"}, want: 64},
		{env: []string{"TROUPE_CHUNKED_PREFILL_SIZE=128"}, args: []string{"--prefill-chunk-size", "32"}, want: 32},
		{want: 512},
		{args: []string{"--max-prefill-tokens", "256"}, want: 512}, // a default contradicts nothing
		{args: []string{"--page-size", "1024"}, want: 1024},        // and holds a page
		{args: []string{"--page-size", "1024", "--chunked-prefill-size", "-1"}, want: -1},
	} {
		config, _, err := load(t, c.yaml, c.env, c.args...)
		if err != nil || config.Chunk() != c.want {
			t.Errorf("%+v: chunks of %d tokens, error %v", c, config.Chunk(), err)
		}
	}
}

func TestErrorsNameKeyPlaceAndRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		args []string
		want []string
	}{
		"unknown key":      {yaml: "page_size: 4", want: []string{"page_size", "did you mean page-size?", "troupe.yaml"}},
		"nested key":       {yaml: "server:\n  port: 4", want: []string{"unknown setting server.port"}},
		"unknown variable": {env: []string{"TROUPE_PROT=1"}, want: []string{"TROUPE_PROT", "did you mean TROUPE_PORT?"}},
		"variable's case":  {env: []string{"TROUPE_port=1"}, want: []string{"TROUPE_port", "did you mean TROUPE_PORT?"}},
		"a Service of Kubernetes": {env: []string{"TROUPE_SERVICE_HOST=10.0.0.1", "TROUPE_SERVICE_PORT_API=80", "TROUPE_PORT=tcp://10.0.0.1:80", "TROUPE_PORT_80_TCP=tcp://10.0.0.1:80", "TROUPE_ENGINES_PORT_30100_TCP_ADDR=10.0.0.1"},
			want: []string{"TROUPE_SERVICE_HOST in the environment; Kubernetes sets it for a Service. Set enableServiceLinks: false in the pod",
				"TROUPE_SERVICE_PORT_API in the environment; Kub", "TROUPE_PORT_80_TCP in the environment; Kub", "TROUPE_ENGINES_PORT_30100_TCP_ADDR in the environment; Kub", "port (environment TROUPE_PORT)"}},
		"far-off variable": {env: []string{"TROUPE_FOO=1"}, want: []string{"TROUPE_FOO in the environment; `troupe inspect config` lists all settings"}},
		"wrong duration":   {yaml: "queue-timeout: 60", want: []string{"queue-timeout (file", `is "60"; it must be a duration, for example 30s`}},
		"wrong type":       {yaml: "port: many", want: []string{"port (file", `is "many"; it must be a whole number`}},
		"a map":            {yaml: "port: {a: 1}", want: []string{"port"}},
		"no power of two":  {args: []string{"--page-size", "12"}, want: []string{"page-size is 12", "power of two"}},
		"two at once":      {args: []string{"--page-size", "12", "--port", "70000"}, want: []string{"page-size", "port is 70000"}},
		"advertise all": {args: []string{"--cluster-role", "engine", "--cluster-advertise", "0.0.0.0:1"}, want: []string{
			"cluster-advertise is 0.0.0.0:1, which is not the address of one host"}},
		"half of tls": {args: []string{"--tls-cert", "a.pem"}, want: []string{"set both tls-cert and tls-key, or neither"}},
		"a third of tls": {env: []string{"TROUPE_CLUSTER_TLS_CA=ca.pem"}, want: []string{
			"cluster-tls-cert and cluster-tls-key are not set, but certificates need all three files; set cluster-tls-cert and cluster-tls-key as well, or remove cluster-tls-ca (cluster-tls-ca: environment TROUPE_CLUSTER_TLS_CA)"}},
		"two thirds of tls": {env: []string{"TROUPE_CLUSTER_TLS_CA=ca.pem"}, args: []string{"--cluster-tls-key", "key.pem"}, want: []string{
			"cluster-tls-cert is not set, but certificates need all three files; set cluster-tls-cert as well, or remove cluster-tls-ca and cluster-tls-key (cluster-tls-ca: environment TROUPE_CLUSTER_TLS_CA, cluster-tls-key: flag --cluster-tls-key)"}},
		"bad word":         {env: []string{"TROUPE_LOG_LEVEL=loud"}, want: []string{"log-level", "loud", "debug, info, warn or error"}},
		"endless":          {args: []string{"--drain-timeout", "9000h"}, want: []string{"drain-timeout is 9000h0m0s; it must be between 0s and 8760h0m0s"}},
		"special tokens":   {args: []string{"--special-tokens-in-messages", "strip"}, want: []string{"special-tokens-in-messages", "strip", "parse"}},
		"no origin":        {args: []string{"--cors-origins", "chat.example"}, want: []string{"cors-origins", "chat.example", "https://"}},
		"origin with path": {args: []string{"--cors-origins", "https://chat.example/"}, want: []string{"cors-origins", `"https://chat.example/"`}},
		"host with scheme": {args: []string{"--allowed-hosts", "https://chat.example"}, want: []string{"allowed-hosts", `"https://chat.example"`, "without scheme"}},
		"host with port":   {yaml: "allowed-hosts: [chat.example, 'chat.example:80']", want: []string{"allowed-hosts", `"chat.example:80"`}},
		"host with path":   {env: []string{"TROUPE_ALLOWED_HOSTS=chat.example/"}, want: []string{"allowed-hosts", `"chat.example/"`}},
		"half an address":  {args: []string{"--allowed-hosts", "[fd00::1"}, want: []string{"allowed-hosts", `"[fd00::1"`}},
		"not a number":     {env: []string{"TROUPE_MEM_FRACTION_STATIC=NaN"}, want: []string{"mem-fraction-static is NaN"}},
		"two names":        {yaml: "chunked-prefill-size: 512\nprefill-chunk-size: 256", want: []string{"chunked-prefill-size is 512", "prefill-chunk-size is 256", "give one"}},
		"two flags":        {args: []string{"--chunked-prefill-size", "512", "--prefill-chunk-size", "-1"}, want: []string{"chunked-prefill-size is 512", "prefill-chunk-size is -1"}},
		"chunk too big":    {args: []string{"--prefill-chunk-size", "512", "--max-prefill-tokens", "256"}, want: []string{"chunked-prefill-size is 512", "max-prefill-tokens is 256"}},
		"target, no chunk": {env: []string{"TROUPE_INTER_TOKEN_LATENCY_TARGET=50ms", "TROUPE_PREFILL_CHUNK_SIZE=-1"}, want: []string{"inter-token-latency-target", "chunked-prefill-size is -1"}},
		"preemption alone": {args: []string{"--enable-priority-preemption"}, want: []string{"enable-priority-preemption", `schedule-policy is "fcfs"`}},
		"negative target":  {args: []string{"--inter-token-latency-target", "-1s"}, want: []string{"inter-token-latency-target is -1s"}},
		"broken yaml":      {yaml: "port: [", want: []string{"config file"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, c.env, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q lacks %q", err, w)
				}
			}
		})
	}
}

func TestPresetsLoad(t *testing.T) {
	presets, _ := filepath.Glob("*.yaml")
	if len(presets) < 2 {
		t.Fatalf("%d presets found", len(presets))
	}
	for _, p := range presets {
		if _, err := Load(p, nil); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// An admin key that every client has, or that none can send, is refused, and no
// error shows it.
func TestAdminKeysAreChecked(t *testing.T) {
	for yaml, want := range map[string]string{
		"admin-api-key: hidden":                            "",
		"api-key: [a, b]\nadmin-api-key: hidden":           "",
		"api-key: [a, hidden]\nadmin-api-key: hidden":      "equals an api-key",
		"admin-api-key: \" hidden\"":                       "header",
		"admin-api-key: \"hidden\\n\"":                     "header",
		"admin-api-key: hiddenü":                           "header",
		"admin-api-key: [hidden]":                          "admin-api-key",
		"admin-api-key: hidden\nserved-model-name: [a, b]": "served-model-name",
	} {
		_, _, err := load(t, yaml, nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", yaml, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", yaml, err, want)
		case err != nil && strings.Contains(err.Error(), "hidden"):
			t.Errorf("%q: the error shows the key: %v", yaml, err)
		}
	}
}

func TestOnlyAServerHasServerFlags(t *testing.T) {
	all, engine := pflag.NewFlagSet("all", pflag.ContinueOnError), pflag.NewFlagSet("engine", pflag.ContinueOnError)
	AddFlags(all)
	AddEngineFlags(engine)
	for _, key := range []string{"port", "api-key", "admin-api-key", "drain-timeout"} {
		if all.Lookup(key) == nil || engine.Lookup(key) != nil {
			t.Errorf("--%s: with a server %v, without %v", key, all.Lookup(key) != nil, engine.Lookup(key) != nil)
		}
	}
	if engine.Lookup("page-size") == nil {
		t.Error("--page-size also has an effect without a server")
	}
	// The file may be a server's all the same.
	if c, err := Load("server.yaml", engine); err != nil || c.HTTP.Host != "0.0.0.0" {
		t.Errorf("a server's file gives %v", err)
	}
}

// A policy without anything to order by is not an error, but a warning at the start of the
// engine.
func TestPoliciesWithoutACacheWarn(t *testing.T) {
	for yaml, want := range map[string]string{
		"schedule-policy: lpm\ndisable-radix-cache: true":        "lpm",
		"schedule-policy: dfs-weight\ndisable-radix-cache: true": "dfs-weight",
		"schedule-policy: lpm":                                   "",
		"schedule-policy: fair\ndisable-radix-cache: true":       "",
	} {
		c, _, err := load(t, yaml, nil)
		if err != nil {
			t.Fatal(err)
		}
		notes := c.Warnings()
		switch {
		case want == "" && len(notes) != 0:
			t.Errorf("%q: warned %q", yaml, notes)
		case want != "" && (len(notes) != 1 || !strings.Contains(notes[0], want) || !strings.Contains(notes[0], "fcfs")):
			t.Errorf("%q: warned %q, want a note on %s and fcfs", yaml, notes, want)
		}
	}
	if _, _, err := load(t, "schedule-policy: shortest", nil); err == nil || !strings.Contains(err.Error(), "dfs-weight") {
		t.Errorf("an unknown policy: %v, want an error that lists all", err)
	}
}

// Settings that have no effect because of another one cause warnings.
func TestSettingsWithoutEffectWarn(t *testing.T) {
	for yaml, want := range map[string]string{
		"schedule-low-priority-values-first: true":                                  "schedule-low-priority-values-first",
		"schedule-low-priority-values-first: true\nschedule-policy: priority":       "",
		"schedule-low-priority-values-first: true\nradix-eviction-policy: priority": "",
		"queue-timeout: 10s\nrequest-timeout: 10s":                                  "queue-timeout 10s has no effect",
		"queue-timeout: 9s\nrequest-timeout: 10s":                                   "",
		"request-timeout: 10s":                                                      "", // queue-timeout is the default
		"queue-timeout: 9s":                                                         "",
		"max-queued-requests: 11\nmax-open-requests: 10":                            "max-queued-requests 11 has no effect",
		"max-queued-requests: 10\nmax-open-requests: 10":                            "",
		"kv-events: true\napi-key: [a, b]":                                          "it requires admin-api-key",
		"kv-events: true\napi-key: [a, b]\nadmin-api-key: c":                        "",
		"kv-events: true\napi-key: [a, a]":                                          "",
		"kv-events: true":                                                           "",
		"api-key: [a, b]":                                                           "",
	} {
		c, _, err := load(t, yaml, nil)
		if err != nil {
			t.Fatal(err)
		}
		notes := c.Warnings()
		if want == "" && len(notes) != 0 || want != "" && (len(notes) != 1 || !strings.Contains(notes[0], want)) {
			t.Errorf("%q: warned %q, want %q", yaml, notes, want)
		}
	}
	if _, _, err := load(t, "context-length: 1", nil); err == nil || !strings.Contains(err.Error(), "context-length is 1") {
		t.Errorf("a context of one token: %v", err)
	}
	if c, _, err := load(t, "context-length: 2", nil); err != nil || c.Open.ContextLength != 2 {
		t.Errorf("a context of two tokens: %v", err)
	}
}

func TestEventsWithoutACacheWarn(t *testing.T) {
	for yaml, want := range map[string]int{"kv-events: true\ndisable-radix-cache: true": 1, "kv-events: true": 0} {
		c, _, err := load(t, yaml, nil)
		if err != nil {
			t.Fatal(err)
		}
		if notes := c.Warnings(); len(notes) != want || want > 0 && !strings.Contains(notes[0], "kv-events") {
			t.Errorf("%q: warned %q", yaml, notes)
		}
	}
	if _, _, err := load(t, "kv-events-buffer: 0", nil); err == nil || !strings.Contains(err.Error(), "kv-events-buffer") {
		t.Errorf("a buffer of nothing: %v", err)
	}
}

func TestHostsThatMayBeAllowed(t *testing.T) {
	hosts := []string{"chat.example", "Chat.Example.", "10.0.0.7", "fd00::1", "[fd00::1]", "my_box-2", "*"}
	c, _, err := load(t, "", nil, "--allowed-hosts", strings.Join(hosts, ","))
	if err != nil || len(c.HTTP.AllowedHosts) != len(hosts) {
		t.Errorf("%q, %v", c.HTTP.AllowedHosts, err)
	}
}
