package configs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestExplainAddsSources(t *testing.T) {
	c, _, err := load(t, "# x\n\nPage-Size : 4\n\"kv-layout\": paged\n", []string{"TROUPE_MODEL=m"}, "--port", "1")
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"page-size is bad (file":                             About(errors.New("page-size is bad"), "page-size"),
		"troupe.yaml, line 3)":                               About(errors.New("page-size is bad"), "page-size"),
		"give --page-size and pages (page-size: file":        errors.New("give --page-size and pages"),
		"(kv-layout: file":                                   About(errors.New("bad"), "kv-layout"),
		"troupe.yaml, line 4)":                               About(errors.New("bad"), "kv-layout"), // written in quotes
		"(host: default, port: flag --port)":                 About(errors.New("in use"), "host", "port"),
		"(model: environment TROUPE_MODEL, page-size: file ": fmt.Errorf("start: %w", About(errors.New("lower page-size"), "model")),
	} {
		got := c.Explain(err)
		if !strings.Contains(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("%q lacks %q", got, want)
		}
		if again := c.Explain(fmt.Errorf("once more: %w", got)); strings.Count(again.Error(), "(") != strings.Count(got.Error(), "(") {
			t.Errorf("explained twice: %q", again)
		}
	}
	for _, text := range []string{"no port is left for the model", "out-of-range is no setting", "no-page-size and page-sizes, too"} {
		if got := c.Explain(errors.New(text)); got.Error() != text {
			t.Errorf("no setting is named: %q", got)
		}
	}
	if c.Explain(nil) != nil || About(nil, "port") != nil {
		t.Error("nothing became an error")
	}
	if got := c.Explain(About(context.Canceled, "model")); !errors.Is(got, context.Canceled) {
		t.Errorf("%v", got)
	}
	bad := About(errors.New("bad"), "port")
	if got := (&Config{}).Explain(bad); got.Error() != "bad" {
		t.Errorf("settings that were not loaded have a source: %q", got)
	}
}
