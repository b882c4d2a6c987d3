package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/troupe-engine/troupe/configs"
	"github.com/troupe-engine/troupe/testkit/commandline"
)

// badTexts are invalid values of settings that are strings or lists, on any machine.
var badTexts = map[string]string{
	"model": "/no/such/model", "load-format": "x", "chat-template": "/no/such/template", "tool-call-parser": "x", "reasoning-parser": "x", "sampling-defaults": "x",
	"device": "x", "instruction-set": "x", "activation-dtype": "x", "weight-dtype": "x", "kv-cache-dtype": "x", "kv-layout": "x",
	"host": "192.0.2.1", "admin-address": "192.0.2.1:1", "admin-api-key": "ü", "tls-cert": "/no/such/cert", "tls-key": "/no/such/key", "api-keys-file": "/no/such/keys",
	"cors-origins": "x", "special-tokens-in-messages": "x", "unknown-fields": "x", "model-aliases": "x", "allowed-hosts": "https://x", "tenant-from": "x", "schedule-policy": "x", "load-balance-method": "sticky", "radix-eviction-policy": "x",
	"cluster-role": "x", "cluster-name": "a_b", "node-name": "a_b", "cluster-listen": "x", "cluster-advertise": "x", "cluster-join": "x",
	"cluster-tls-ca": "/no/such/ca", "cluster-tls-cert": "/no/such/cert", "cluster-tls-key": "/no/such/key",
	"record-trace": "/no/such/folder/trace", "log-level": "x", "log-format": "x",
}

// anyText are settings that accept every string.
var anyText = map[string]bool{"served-model-name": true, "api-key": true, "cuda-library": true}

// bad returns an invalid value.
func bad(t *testing.T, v configs.Value) string {
	t.Helper()
	switch reflect.ValueOf(v.Value).Kind() {
	case reflect.Bool:
		return "maybe"
	case reflect.Int, reflect.Int64, reflect.Float64:
		if _, is := v.Value.(time.Duration); is {
			return "-7s"
		}
		return "-7"
	}
	if badTexts[v.Key] == "" {
		t.Fatalf("the test has no bad value for %s; add one", v.Key)
	}
	return badTexts[v.Key]
}

// The error of an invalid setting names the setting and its source, and no other source.
func TestErrorsAtStartNameTheSource(t *testing.T) {
	for _, v := range configs.Default().Values() {
		if anyText[v.Key] {
			continue
		}
		value := bad(t, v)
		name := "TROUPE_" + strings.ToUpper(strings.ReplaceAll(v.Key, "-", "_"))
		file := commandline.File(t, "troupe.yaml", "# settings\n"+v.Key+": "+value+"\n")
		places := map[string]string{"flag": "flag --" + v.Key, "environment": "environment " + name, "file": "file " + file + ", line 2"}
		for place, want := range places {
			t.Run(v.Key+" by "+place, func(t *testing.T) {
				args := []string{"serve"}
				if v.Key != "port" {
					args = append(args, "--port=0")
				}
				switch place {
				case "flag":
					args = append(args, "--"+v.Key+"="+value)
					if value == "maybe" { // pflag's own error
						want = "--" + v.Key
					}
				case "environment":
					t.Setenv(name, value)
				case "file":
					args = append(args, "--config", file)
				}
				_, err := run(t, "", args...)
				if err == nil {
					t.Fatalf("a server starts with %s", value)
				}
				if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), v.Key) {
					t.Errorf("%q does not name %s and %q", err, v.Key, want)
				}
				for other, wrong := range places {
					if other != place && strings.Contains(err.Error(), wrong) {
						t.Errorf("%q names %q", err, wrong)
					}
				}
			})
		}
	}
}

// Settings that contradict each other are named with both sources, including defaults.
func TestConflictsNameBothSources(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  string
		args []string
		want []string
	}{
		"half of TLS":     {args: []string{"--tls-cert", "a.pem"}, want: []string{"tls-cert: flag --tls-cert", "tls-key: default"}},
		"chunk and page":  {yaml: "page-size: 64", args: []string{"--chunked-prefill-size", "32"}, want: []string{"chunked-prefill-size: flag --chunked-prefill-size", "page-size: file ", "troupe.yaml, line 1"}},
		"chunk and step":  {yaml: "prefill-chunk-size: 512", env: "TROUPE_MAX_PREFILL_TOKENS=256", want: []string{"chunked-prefill-size: file ", "max-prefill-tokens: environment TROUPE_MAX_PREFILL_TOKENS"}},
		"target, chunks":  {env: "TROUPE_INTER_TOKEN_LATENCY_TARGET=5ms", args: []string{"--chunked-prefill-size", "-1"}, want: []string{"inter-token-latency-target: environment TROUPE_INTER_TOKEN_LATENCY_TARGET", "chunked-prefill-size: flag --chunked-prefill-size"}},
		"preemption":      {args: []string{"--enable-priority-preemption"}, want: []string{"enable-priority-preemption: flag --enable-priority-preemption", "schedule-policy: default"}},
		"tenants":         {args: []string{"--tenant-from", "api-key"}, want: []string{"tenant-from: flag --tenant-from", "api-key: default"}},
		"the same key":    {yaml: "api-key: [a, b]", env: "TROUPE_ADMIN_API_KEY=b", want: []string{"admin-api-key: environment TROUPE_ADMIN_API_KEY", "api-key: file "}},
		"pool and page":   {args: []string{"--max-total-tokens", "3"}, want: []string{"max-total-tokens: flag --max-total-tokens", "page-size: default"}},
		"model's context": {env: "TROUPE_CONTEXT_LENGTH=100000", want: []string{"context-length: environment TROUPE_CONTEXT_LENGTH", "model: default"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--port=0"}, c.args...)
			if c.yaml != "" {
				args = append(args, "--config", commandline.File(t, "troupe.yaml", c.yaml+"\n"))
			}
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			_, err := run(t, "", args...)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
		})
	}
}

// Errors that only the start finds also name their settings.
func TestDeeperErrorsNameTheSource(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	there, pem := commandline.File(t, "there", "x"), commandline.File(t, "x.pem", "x")
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  string
		args []string
		want []string
	}{
		"port in use":          {"", []string{"serve", fmt.Sprintf("--port=%d", port)}, []string{"in use", "host: default", "port: flag --port"}},
		"port in use, env":     {fmt.Sprintf("TROUPE_PORT=%d", port), []string{"serve"}, []string{"port: environment TROUPE_PORT"}},
		"admin port in use":    {fmt.Sprintf("TROUPE_ADMIN_ADDRESS=127.0.0.1:%d", port), []string{"serve", "--port=0"}, []string{"in use", "environment TROUPE_ADMIN_ADDRESS"}},
		"broken TLS files":     {"TROUPE_TLS_CERT=" + pem, []string{"serve", "--port=0", "--tls-key", pem}, []string{"tls-cert: environment TROUPE_TLS_CERT", "tls-key: flag --tls-key"}},
		"a recording is there": {"TROUPE_RECORD_TRACE=" + there, []string{"serve", "--port=0"}, []string{"already exists", "environment TROUPE_RECORD_TRACE"}},
		"a broken model":       {"TROUPE_MODEL=" + broken, []string{"serve", "--port=0"}, []string{"environment TROUPE_MODEL"}},
		"the other name":       {"", []string{"generate", "--model-path", broken}, []string{"flag --model-path"}},
		"a broken template":    {"", []string{"serve", "--port=0", "--chat-template", commandline.File(t, "t", "{% if %}")}, []string{"flag --chat-template"}},
		"generate":             {"TROUPE_MODEL=" + broken, []string{"generate"}, []string{"environment TROUPE_MODEL"}},
		"inspect memory":       {"TROUPE_MAX_TOTAL_TOKENS=3", []string{"inspect", "memory"}, []string{"max-total-tokens: environment TROUPE_MAX_TOTAL_TOKENS"}},
		"no such file":         {"TROUPE_CONFIG=/no/such/file", []string{"serve", "--port=0"}, []string{"/no/such/file", "environment TROUPE_CONFIG"}},
		"no such file, flag":   {"", []string{"serve", "--port=0", "--config", "/no/such/file"}, []string{"/no/such/file", "flag --config"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			_, err := run(t, "", c.args...)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v lacks %q", err, want)
				}
			}
		})
	}
}
