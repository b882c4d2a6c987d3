package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A real Prometheus scrapes a loaded server: every query of the dashboard has a value, the
// alert rules are evaluated without an error, and promtool accepts metrics and rules.
func TestMonitoring(t *testing.T) {
	for _, tool := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("TROUPE_TOOLS") != "" {
				t.Fatal(err)
			}
			t.Skip("prometheus is not installed (Debian's package prometheus); TROUPE_TOOLS=1 makes this a failure")
		}
	}
	folder, err := filepath.Abs("../../deploy/monitoring")
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, nil, "check", "rules", filepath.Join(folder, "alerts.yaml"))
	promtool(t, nil, "test", "rules", filepath.Join(folder, "alerts_test.yaml"))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	target := startLoaded(ctx, t)
	prometheus := startPrometheus(ctx, t, folder, target)

	for title, exprs := range dashboard(t, filepath.Join(folder, "dashboard.json")) {
		for _, expr := range exprs {
			until(ctx, t, fmt.Sprintf("panel %q: %s", title, expr), func() error { return hasValue(ctx, prometheus, expr) })
		}
	}
	until(ctx, t, "alert rules", func() error { return rulesAreHealthy(ctx, prometheus) })

	metrics, err := get(ctx, "http://"+target+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, strings.NewReader(metrics), "check", "metrics")
	rules, err := os.ReadFile(filepath.Join(folder, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`troupe_\w+`).FindAllString(string(rules), -1) {
		if !strings.Contains(metrics, "\n"+name+"{") {
			t.Errorf("the rules name %s, which the server does not have", name)
		}
	}
}

func promtool(t *testing.T, in io.Reader, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "promtool", args...)
	c.Stdin = in
	if text, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", args, err, text)
	}
}

// startLoaded starts the binary with the embedded model and clients that never stop. It
// returns the address.
func startLoaded(ctx context.Context, t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "troupe")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	c := exec.CommandContext(ctx, binary, "serve", "--port", "0", "--log-format", "json", "--max-total-tokens", "4096")
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, c)
	address := ""
	lines := bufio.NewScanner(log)
	for address == "" && lines.Scan() {
		var line struct{ Message, URL string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "troupe is ready" {
			address = strings.TrimPrefix(line.URL, "http://")
		}
	}
	if address == "" {
		t.Fatal("the server did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	for i := range 8 {
		go func() {
			for turn := 0; ctx.Err() == nil; turn++ {
				body := fmt.Sprintf(`{"prompt": "Once upon a time there was a cat called %d", "max_tokens": 60, "seed": %d}`, i, turn)
				if r, err := post(ctx, "http://"+address+"/v1/completions", body); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
			}
		}()
	}
	return address
}

// start runs a process until the end of the test.
func start(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

// startPrometheus scrapes the target each second, with the rules, and returns its URL.
func startPrometheus(ctx context.Context, t *testing.T, folder, target string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer("10s", "1s", "127.0.0.1:30000", target, "[alerts.yaml]", "["+filepath.Join(folder, "alerts.yaml")+"]").Replace(string(text))
	config = strings.Replace(config, "scrape_interval: 1s", "scrape_interval: 1s\n  evaluation_interval: 1s", 1)
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	start(t, exec.CommandContext(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address))
	until(ctx, t, "prometheus", func() error {
		_, err := get(ctx, "http://"+address+"/-/ready")
		return err
	})
	return "http://" + address
}

// dashboard are the queries by panel, with Grafana's variables filled in.
func dashboard(t *testing.T, file string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$model", ".+", "$instance", ".+", "$__rate_interval", "10s")
	all := map[string][]string{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], fill.Replace(target.Expr))
		}
	}
	if len(all) < 15 {
		t.Errorf("only %d panels have queries", len(all))
	}
	return all
}

// hasValue returns an error unless a query has a result, and all its values are numbers.
func hasValue(ctx context.Context, prometheus, expr string) error {
	text, err := get(ctx, prometheus+"/api/v1/query?query="+url.QueryEscape(expr))
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return err
	}
	if len(answer.Data.Result) == 0 {
		return errors.New("no result")
	}
	for _, r := range answer.Data.Result {
		if r.Value[1] == "NaN" {
			return errors.New("NaN")
		}
	}
	return nil
}

func rulesAreHealthy(ctx context.Context, prometheus string) error {
	text, err := get(ctx, prometheus+"/api/v1/rules")
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, State, LastError string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return err
	}
	if len(answer.Data.Groups) == 0 {
		return errors.New("no rules")
	}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" || r.State == "firing" {
				return fmt.Errorf("%s: health %s, %s %s", r.Name, r.Health, r.State, r.LastError)
			}
		}
	}
	return nil
}

// until tries again and again, until there is no error or the time of the test is over.
func until(ctx context.Context, t *testing.T, what string, try func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return string(text), err
}

func post(ctx context.Context, address, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(request)
}
