package configs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// An empty key, for example from an unset variable, would open the server to everyone.
// The error names its source and the remedy.
func TestKeysThatAreGivenAndEmptyEndTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		env  []string
		args []string
		want string // in the error; "" for none
	}{
		"flag":                       {args: []string{"--api-key", ""}, want: "api-key (flag --api-key) is empty"},
		"flag with =":                {args: []string{"--api-key="}, want: "api-key (flag --api-key) is empty"},
		"flag of spaces":             {args: []string{"--api-key", "  "}, want: "api-key (flag --api-key) is empty"},
		"second flag":                {args: []string{"--api-key", "hidden", "--api-key", ""}, want: "api-key (flag --api-key) has an empty key"},
		"first flag":                 {args: []string{"--api-key", "", "--api-key", "hidden"}, want: "api-key (flag --api-key) has an empty key"},
		"flag with a comma":          {args: []string{"--api-key", "hidden,"}, want: "api-key (flag --api-key) has an empty key"},
		"variable":                   {env: []string{"TROUPE_API_KEY="}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"variable of spaces":         {env: []string{"TROUPE_API_KEY= "}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"variable with a comma":      {env: []string{"TROUPE_API_KEY=hidden,,x"}, want: "api-key (environment TROUPE_API_KEY) has an empty key"},
		"file":                       {yaml: `api-key: ""`, want: "troupe.yaml, line 1) is empty"},
		"file, an empty list":        {yaml: `api-key: []`, want: "troupe.yaml, line 1) is empty"},
		"file, a list of one":        {yaml: `api-key: [""]`, want: "troupe.yaml, line 1) is empty"},
		"file, in a list":            {yaml: `api-key: [hidden, ""]`, want: "troupe.yaml, line 1) has an empty key"},
		"file, null in a list":       {yaml: `api-key: [hidden, null]`, want: "troupe.yaml, line 1) has an empty key"},
		"file, null":                 {yaml: "api-key:\nport: 1", want: "troupe.yaml has api-key without a value; remove the line"},
		"file, null of an admin":     {yaml: `admin-api-key: ~`, want: "troupe.yaml has admin-api-key without a value"},
		"variable over the file":     {yaml: "api-key: hidden", env: []string{"TROUPE_API_KEY="}, want: "api-key (environment TROUPE_API_KEY) is empty"},
		"flag over all":              {yaml: "api-key: hidden", env: []string{"TROUPE_API_KEY=hidden"}, args: []string{"--api-key", ""}, want: "api-key (flag --api-key) is empty"},
		"admin flag":                 {args: []string{"--admin-api-key", ""}, want: "admin-api-key (flag --admin-api-key) is empty"},
		"admin variable":             {env: []string{"TROUPE_ADMIN_API_KEY="}, want: "admin-api-key (environment TROUPE_ADMIN_API_KEY) is empty"},
		"admin file":                 {yaml: `admin-api-key: ""`, want: "admin-api-key (file"},
		"admin file of spaces":       {yaml: `admin-api-key: "  "`, want: "troupe.yaml, line 1) is empty"},
		"admin, with an api-key":     {yaml: `api-key: hidden`, env: []string{"TROUPE_ADMIN_API_KEY="}, want: "admin-api-key (environment TROUPE_ADMIN_API_KEY) is empty"},
		"overridden by a key":        {yaml: `api-key: ""`, env: []string{"TROUPE_API_KEY=hidden"}},
		"none":                       {},
		"an admin key with commas":   {yaml: `admin-api-key: "hidden,,x"`},
		"two flags":                  {args: []string{"--api-key", "hidden", "--api-key", "x,y"}},
		"another list may be empty":  {args: []string{"--cors-origins", ""}},
		"another variable may be so": {env: []string{"TROUPE_CORS_ORIGINS="}},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.yaml, c.env, c.args...)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "":
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %s", err, c.want)
			case strings.Contains(c.want, "empty") && !strings.Contains(err.Error(), "give a key"):
				t.Errorf("%v names no remedy", err)
			case strings.Contains(err.Error(), "hidden"):
				t.Errorf("the error shows a key: %v", err)
			}
		})
	}
}

// Formats convert what is not in quotes: 0123 to 83, 1.10 to 1.1. A text would change
// silently, so it is refused, without the value.
func TestTextsWithoutQuotesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ format, text, want string }{
		{"yaml", "api-key: 0123", "api-key (file FILE, line 1) is a number; put it in quotes"},
		{"yaml", "port: 1\napi-key: 1e5", "api-key (file FILE, line 2) is a number; put it in quotes"},
		{"yaml", "admin-api-key: 1.10", "admin-api-key (file FILE, line 1) is a number"},
		{"yaml", "api-key: 12345678901234567890123", "api-key (file FILE, line 1) is a number"},
		{"yaml", "api-key: [0755, 1_0]", "has a number as entry 1; it must be a string in quotes"},
		{"yaml", "api-key: [a, 2024-01-01]", "has a date or time as entry 2"},
		{"yaml", "api-key: [a, [b]]", "has a list as entry 2"},
		{"yaml", "api-key: true", "is a boolean; put it in quotes"},
		{"yaml", "served-model-name: 2024-01-01", "served-model-name (file FILE, line 1) is a date or time"},
		{"yaml", "host: {1: a}", "is a map; it must be a string"},
		{"yaml", "api-key: *0123", "begins with * must be in quotes"},
		{"json", `{"admin-api-key": 1.10}`, "is a number; put it in quotes"},
		{"json", `{"api-key": 12345678901234567890123}`, "is a number; put it in quotes"},
		{"json", `{"api-key": 1e999}`, "a number is too large; if it is meant as text, put it in quotes"},
		{"toml", "api-key = [0o755]", "has a number as entry 1"},
		{"toml", "served-model-name = 07:32:00", "is a date or time; put it in quotes"},
		{"toml", "api-key = 12345678901234567890123", "line 1: a number is too large; if it is meant as text, put it in quotes"},
		{"yaml", "api-key: ['0123', \"1.10\", !!str 1e5]\nserved-model-name: '2024-01-01'\nport: 0x10\nmem-fraction-static: 5e-1\nkv-events: true\nqueue-timeout: 0", ""},
	} {
		file := filepath.Join(dir, "troupe."+c.format)
		must(t, os.WriteFile(file, []byte(c.text), 0o600))
		config, err := Load(file, nil)
		switch want := strings.ReplaceAll(c.want, "FILE", file); {
		case want == "" && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case want == "":
			if !slices.Equal(config.HTTP.APIKeys, []string{"0123", "1.10", "1e5"}) || config.ServedModelName != "2024-01-01" || config.HTTP.Port != 16 || config.Pool.MemFraction != 0.5 {
				t.Errorf("%q: %+v", c.text, config)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %s", c.text, err, want)
		case regexp.MustCompile(`0123|1e[59]|1\.1|[47]55|493|83|2024`).MatchString(strings.ReplaceAll(err.Error(), file, "")):
			t.Errorf("%q: the error shows the value: %v", c.text, err)
		}
	}
}

// List flags work like pflag's: repeated, separated by commas, in quotes.
func TestListsOfFlags(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"a,b", "c"}, []string{"a", "b", "c"}},
		{[]string{`"a,b",c`}, []string{"a,b", "c"}},
	} {
		var args []string
		for _, a := range c.args {
			args = append(args, "--api-key", a)
		}
		config, _, err := load(t, "", nil, args...)
		if err != nil || !slices.Equal(config.HTTP.APIKeys, c.want) {
			t.Errorf("%q gives %q, %v", args, config.HTTP.APIKeys, err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if usage := flags.FlagUsages(); !strings.Contains(usage, "--api-key strings ") || strings.Contains(usage, "default []") {
		t.Error("the help shows a list differently from pflag's")
	}
	if err := flags.Set("api-key", `"a`); err == nil {
		t.Error("an open quote is accepted")
	}
}
